"""Italian: phrases, fillers, synonyms and opposites for the guards."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

PHRASES: Final = """
post:>= | o più, o superiore, o superiori, o maggiore, in su, e oltre, ed oltre
post:<= | o meno, o inferiore, o inferiori, o minore, in giù
op:>= | almeno, non inferiore a, non inferiori a, non inferiore al, non inferiore ai, non minore
    di, non minori di, non meno di, maggiore o uguale a, maggiore o uguale di, maggiore uguale
    a, superiore o uguale a, pari o superiore a, pari o superiori a, uguale o superiore a, come
    minimo, non prima di, non prima del, a partire da
op:>= ? agg:min | minimo di, un minimo di, minimo
op:<= | al massimo, al più, tutt'al più, non superiore a, non superiori a, non superiore al, non
    superiore ai, non maggiore di, non maggiori di, non più di, non oltre, non oltre il, minore
    o uguale a, minore o uguale di, minore uguale a, inferiore o uguale a, pari o inferiore a,
    pari o inferiori a, uguale o inferiore a, come massimo, non dopo il, non supera, non
    superano, non eccede, entro e non oltre
op:<= ? agg:max | massimo di, un massimo di, massimo
op:> | superiore a, superiori a, superiore al, superiore ai, superiore alle, maggiore di,
    maggiori di, maggiore del, più di, più grande di, più alto di, più lungo di, più lunga di,
    più vecchio di, strettamente maggiore di, supera, superano, superi, eccede, eccedono, al di
    sopra di, al di sopra dei, con più di
op:> ? | oltre, oltre i, oltre gli, oltre le, sopra, sopra i, sopra gli, sopra le, oltre il
op:< | inferiore a, inferiori a, inferiore al, inferiore ai, inferiore alle, minore di, minori
    di, minore del, meno di, più piccolo di, più basso di, più breve di, più giovane di,
    strettamente minore di, al di sotto di, al di sotto dei
op:< ? | sotto, sotto i, sotto gli, sotto le
op:!= | diverso da, diversa da, diversi da, diverse da, non uguale a, differente da
op:= | uguale a, uguali a, pari a, equivale a, equivalente a
op:between | compreso tra, compresa tra, compresi tra, comprese tra, compreso fra, compresa fra,
    tra, fra
rel:since | dall'anno, a partire dal, a decorrere dal, a far data dal, dall'inizio del, sin dal,
    fin dal
rel:since ? prep:from | da, dal, dallo, dalla, dai, dagli, dalle, dall'
rel:until | fino a, fino al, fino alla, sino a, sino al, fino ai
rel:before | prima di, prima del, prima della, prima dello, prima dei, prima delle, prima degli,
    prima dell', antecedente a, antecedente al, anteriore a, anteriore al, precedentemente a,
    anteriormente a
rel:after | dopo, dopo di, dopo il, dopo la, dopo i, dopo le, dopo lo, dopo gli, dopo l',
    successivamente a, successivamente al, posteriore a, posteriore al, in seguito a
rel:within | entro, entro i, entro il, entro le, entro la, entro gli
rel:minus | meno, al netto di, al netto dei, al netto degli, al netto delle, al netto del, al
    netto della, al netto dell', detratti, detratte, detratto, detratta, dedotti, dedotte,
    dedotto, dedotta, sottra*, tolti, tolte
rel:plus | sommato a, aggiunto a, più
rel:times | moltiplicato per, moltiplicata per, per il numero di volte
rel:div | diviso, divisa, diviso per, divisa per, rapporto tra, rapporto fra
rel:instead | invece di, invece del, invece della, anziché, piuttosto che, al posto di, al posto
    del, al posto della
neg | non, not, né, mai, nessun, nessuno, nessuna, neppure, nemmeno, neanche, nulla, niente, privo
    di, privi di, priva di, prive di, assenza di, manca, mancano
neg.excl | a meno che, salvo che, esclud*, esclus*, senza, tranne, eccetto, eccettuat*, salvo,
    fuorché, ad eccezione di, ad eccezione del, ad eccezione della, ad eccezione dei, ad
    eccezione delle, a eccezione di, a eccezione del, a eccezione dei, a eccezione delle, ad
    esclusione di, a esclusione di, ad esclusione dei, ad esclusione delle, omett*, omess*,
    ignor*, trascur*, scart*, non comprende, non comprendono, non comprendere, non compresi, non
    comprese, non compreso, non compresa, non include, non includono, non includere, non
    incluso, non inclusi, non incluse, non inclusa, non conta, non contano, non contare, non si
    contano, non si conta, non sono inclusi, non sono incluse, non è incluso, non è inclusa, non
    si includono, non considera, non considerare, non si considerano, non si considera, ma non,
    rimuov*, rimoss*
incl | includ*, inclus*, comprend*, comprens*, compresi, comprese, compreso, compresa,
    ricomprend*, non esclud*, non esclus*, contien*, conteng*, insieme a, unitamente a, anche,
    nonché, oltre a, oltre ai, oltre alle, oltre al, oltre alla
q:only | solo, soltanto, solamente, esclusivamente, unicamente, soli, sole, sola, nient'altro
    che
q:all | tutti, tutte, tutto, tutta, ogni, ciascun, ciascuno, ciascuna, qualsiasi, qualunque,
    qualsivoglia
q:some | alcuni, alcune, qualche, parecchi, diversi
q:exactly | esattamente, precisamente
q:approx | circa, approssimativamente, all'incirca, intorno a, quasi, pressappoco
q:both | entrambi, entrambe, ambedue
logic:or | o, oppure, ovvero, od
logic:and | e, ed, ma, mentre
agg:count | count, conteggio, conteggi, conteggiata, conteggiato, conteggiati, conteggiate,
    conteggia,
    conteggiano, conta, contano, contare, contati, contate, contato, contata, contando,
    contandoli, conteggiare, numero di, numero dei, numero degli, numero delle, numerosità,
    quanti, quante, quantità di
agg:sum | sum, somma, somme, sommati, sommate, sommato, sommata, sommare, sommano, sommando,
    sommatoria, totale di, totale dei, totale delle
agg:sum? | totale, totali, complessivo, complessiva, complessivi, complessive, cumulato
agg:avg | media, medie, mediamente, valore medio, media aritmetica, avg, in media
agg:avg? | medio, medi
agg:median | mediana, mediane, mediano, mediani
agg:min | minima, minimi, minime, più basso, più bassa, più piccolo, più piccola
agg:max | massima, massimi, massime, più alto, più alta, più grande, più elevato, più elevata
agg:distinct | distinti, distinte, distinto, distinta, distinct, univoci, univoche, univoco,
    univoca, unici, uniche, unico, unica, senza duplicati, senza ripetizioni, non duplicati,
    diversi tra loro
agg:std | deviazione standard, scarto quadratico medio
agg:var | varianza
agg:percentile | percentile, percentili, quantile, quartile, decile
agg:ratio? | percentuale, quota di, proporzione, frazione, tasso di
grain:hour | orario, oraria, orari, all'ora, per ora, ogni ora, per ogni ora
grain:day | giornaliero, giornaliera, giornalieri, giornaliere, giornalmente, quotidiano,
    quotidiana, quotidianamente, al giorno, per giorno, ogni giorno, per ogni giorno, per
    ciascun giorno
grain:week | settimanale, settimanali, settimanalmente, alla settimana, a settimana, per
    settimana, ogni settimana, per ogni settimana, per ciascuna settimana
grain:month | mensile, mensili, mensilmente, al mese, per mese, ogni mese, per ogni mese, per
    ciascun mese, mese per mese
grain:quarter | trimestrale, trimestrali, trimestralmente, al trimestre, a trimestre, per
    trimestre, ogni trimestre, per ogni trimestre, per ciascun trimestre
grain:fourmonth | quadrimestrale, quadrimestrali, per quadrimestre, ogni quadrimestre
grain:semester | semestrale, semestrali, semestralmente, al semestre, per semestre, ogni
    semestre, per ogni semestre
grain:year | annuale, annuali, annualmente, annuo, annua, annui, annue, all'anno, per anno, ogni
    anno, per ogni anno, per ciascun anno, anno per anno
grain:decade | per decennio, ogni decennio
grain:fortnight | quindicinale, ogni due settimane, ogni quindici giorni
unit:second | secondi, sec
unit:minute | minuto, minuti
unit:hour | ora, ore
unit:day | giorno, giorni, giornata, giornate, gg
unit:working_day | giorno lavorativo, giorni lavorativi, giorni feriali, giornate lavorative
unit:week | settimana, settimane
unit:month | mese, mesi
unit:quarter | trimestre, trimestri
unit:fourmonth | quadrimestre, quadrimestri
unit:semester | semestre, semestri
unit:year | anno, anni
unit:decade | decennio, decenni
unit:eur | eur, euro, €
unit:usd | usd, dollari, dollaro, $
unit:gbp | gbp, sterline, sterlina, £
unit:chf | chf, franchi svizzeri
unit:jpy | jpy, yen, ¥
unit:cent | centesimi, centesimo, eurocent
unit:percent | per cento, percento, %
unit:point | punti percentuali, punto percentuale, punti base
unit:kg | kg, chilogrammi, chilogrammo, chili, chilo
unit:g | g, grammi, grammo, gr
unit:mg | mg, milligrammi, milligrammo
unit:mcg | mcg, microgrammi, µg, μg
unit:t | tonnellate, tonnellata
unit:lb | libbre, libbra
unit:km | km, chilometri, chilometro
unit:m | m, metri, metro
unit:cm | cm, centimetri, centimetro
unit:mm | mm, millimetri, millimetro
unit:mile | miglia, miglio
unit:m2 | m², m2, mq, metri quadrati, metri quadri
unit:m3 | m³, m3, mc, metri cubi
unit:hectare | ettari, ettaro
unit:l | litri, litro
unit:ml | ml, millilitri, millilitro
unit:kwh | kwh, chilowattora
unit:mwh | mwh, megawattora
unit:celsius | celsius, °c, gradi centigradi
unit:fahrenheit | fahrenheit, °f
unit:byte | byte
unit:kb | kb, kilobyte
unit:mb | mb, megabyte
unit:gb | gb, gigabyte
unit:tb | tb, terabyte
unit:mmhg | mmhg
unit:bpm | bpm, battiti al minuto
scale:1000 | migliaia, migliaio, mila
scale:1000000 | milioni, milione, mln
scale:1000000000 | miliardi, miliardo, mld
scale:100 | centinaia, centinaio
bool:true | true, vero, vera, veri, vere, sì
bool:false | no, false, falso, falsa, falsi, false
null | null, nullo, nulli, nulle, mancante, mancanti, vuoto, vuota, vuoti, vuote, non
    valorizzato, non valorizzata, non disponibile, assente, ignoto, ignota
ord:1 | primo, prima, primi, prime, iniziale
ord:2 | seconda, secondo
ord:3 | terzo, terza
ord:4 | quarto, quarta
ord:5 | quinto, quinta
ord:last | più recente, finale
dir:past | ultimi, ultime, negli ultimi, nelle ultime, passati, passate, precedenti, precedente,
    scorsi, scorse, scorso, scorsa, negli scorsi
dir:past ? ord:last | ultimo, ultima
dir:current | corrente, correnti, attuale, attuali, in corso
dir:next | prossimi, prossime, prossimo, prossima, successivi, successive, successivo,
    successiva, seguenti, seguente
modal:must | deve, devono, dovrà, dovranno, obbligatorio, obbligatoria, obbligatori,
    obbligatorie, necessariamente, va, vanno
modal:may | può, possono, potrà, potranno, facoltativo, facoltativa, facoltativi, opzionale,
    opzionali
weekday:1 | lunedì
weekday:2 | martedì
weekday:3 | mercoledì
weekday:4 | giovedì
weekday:5 | venerdì
weekday:6 | sabato
weekday:7 | domenica
cal:fiscal | fiscale, anno fiscale, esercizio fiscale, esercizio finanziario
cal:calendar | anno solare, solare, anno civile, anno di calendario
prep:to | a, al, allo, alla, ai, agli, alle, all', verso
prep:for | per, per conto di, a favore di, a favore del, a favore dei
prep:with | con, col, coi
prep:against | contro
filler | si intende, si intendono, si definisce, si definiscono, definito come, definita come,
    definiti come, definite come, è definito come, è definita come, si considera, si
    considerano, è considerato, è considerata, sono considerati, sono considerate, si riferisce
    a, si riferiscono a, si riferisce al, si riferiscono al, sta per, indica, indicano, si
    identifica con, si identificano con, si calcola, si calcolano, si misura, si misurano, si
    usa, si usano, in cui, per cui, il cui, la cui, i cui, le cui, vale a dire, cioè, ossia,
    ovvero sia, in base a, in base al, sulla base di, sulla base del, secondo il, secondo la,
    secondo lo, secondo i, secondo le, secondo l', come segue, per la quale, per il quale, ha
    avuto, hanno avuto, abbia avuto, va da, va dal, ai fini di, ai fini del
"""

FILLERS: Final = """
il lo la i gli le l un uno una un' di in su del dello della dei degli delle dell
nel nello nella nei negli nelle nell sul sullo sulla sui sugli sulle sull
è sono era erano sia siano essere stato stata stati state ha hanno avere avuto avuta abbia che
chi cui quale quali quando dove se come
si ci ne vi lo questo questa questi queste quello quella quelli quelle quel tale tali suo sua
suoi sue loro
significa significano intende intendono definisce definiscono definito definita definizione
considera considerano considerato considerati considerate considerata considerare
identifica identificano identificato indicato rappresenta rappresentano
rappresentato
usa usano usare usato utilizzare utilizza utilizzano nota nb quindi cosi così
calcola calcolano calcolato calcolata calcolare
viene vengono venire venga vengano poi presso
"""

MARKS: Final = """
il lo la gli le di del della dei delle degli che è sono con dal dai dalla nel nella nei non e un
una si da al alla ai agli cui dove ogni significa
"""

SYNONYMS: Final = """
cliente acquirente compratore
fatturato ricavo ricavi
prodotto articolo bene
fornitore venditore
dipendente lavoratore
acquisto acquisizione comprare
ricovero ospedalizzazione degenza
durata dura durare lunghezza
medico dottore
farmaco medicinale medicina
prezzo costo
iniziare inizia cominciare comincia avvio
finire finisce terminare termina
intero completo
fattura bolletta
errore sbaglio
auto automobile veicolo vettura
film pellicola
cancellare eliminare rimuovere
annullati cancellati
consegna spedizione
importo ammontare
zona area
persona individuo soggetto
azienda impresa società ditta
lotto partita
richiesta domanda
perso abbandonato
"""

OPPOSITES: Final = """
first-last | iniziale / finale
inpatient-outpatient | ricoverato ricoverati ordinario / ambulatoriale ambulatoriali
gross-net | lordo lorda lordi lorde / netto netta netti nette
open-closed | aperto aperta aperti aperte / chiuso chiusa chiusi chiuse
start-end | inizio inizia apertura / fine finisce termine chiusura
up-down | aumento crescita incremento rialzo / diminuzione calo riduzione decremento ribasso
profit-loss | utile profitto guadagno / perdita
income-expense | entrata entrate incasso ricavo / uscita uscite spesa costo
credit-debit | credito / debito
buy-sell | acquisto comprare comprato acquistato / vendita vendere venduto
import-export | importazione importato / esportazione esportato
in-out | entrante ingresso / uscente
internal-external | interno interna interni interne / esterno esterna esterni esterne
domestic-foreign | nazionale italiano / estero straniero internazionale
male-female | maschio uomo uomini maschile / femmina donna donne femminile
public-private | pubblico pubblica / privato privata
new-existing | nuovo nuova nuovi nuove / vecchio vecchia vecchi esistente esistenti
high-low | alto alta superiore / basso bassa inferiore
large-small | grande maggiore / piccolo minore
long-short | lungo / breve corto
urgent-planned | urgente urgenti urgenza / programmato programmati programmata elettivo
active-inactive | attivo attiva attivi attive / inattivo dormiente cessato sospeso
active-passive | attivo / passivo
valid-invalid | valido valida / scaduto scaduta
accepted-rejected | accettato approvato approvati / respinto respinti rifiutato rifiutati
confirmed-cancelled | confermato confermati / annullato annullati
paid-unpaid | pagato pagati pagata / insoluto insoluti insoluta
present-absent | presente presenti / assente assenti
positive-negative | positivo positiva / negativo negativa
success-failure | successo riuscito / fallimento fallito
left-right | sinistra / destra
north-south | nord settentrionale / sud meridionale
east-west | est orientale / ovest occidentale
day-night | diurno diurna / notte notturno notturna
weekday-weekend | feriale feriali / festivo festivi
online-offline | online / offline
manual-automatic | manuale / automatico
direct-indirect | diretto diretta / indiretto indiretta
primary-secondary | primario primaria / secondario secondaria
parent-child | padre genitore / figlio
sender-recipient | mittente / destinatario
origin-destination | origine provenienza sorgente / destinazione
employer-employee | datore / dipendente
creditor-debtor | creditore / debitore
supplier-customer | venditore fornitore / acquirente cliente compratore
arrival-departure | arrivo / partenza
admission-discharge | ammissione ingresso accettazione / dimissione
hired-dismissed | assunto assunzione assunti / licenziato licenziamento cessazione
win-lose | vinto / perso
ascending-descending | crescente / decrescente
minimum-maximum | minimo / massimo
wholesale-retail | ingrosso / dettaglio
actual-planned | effettivo consuntivo / previsto preventivo budget stimato
adult-minor | adulto adulti / minore minori minorenne bambino
living-dead | vivo vivi / morto deceduto deceduti
full-partial | pieno totale / parziale
fixed-variable | fisso fissa / variabile variabili
permanent-temporary | permanente indeterminato / temporaneo determinato
single-married | celibe nubile / coniugato sposato
enabled-disabled | abilitato / disabilitato
visible-hidden | visibile / nascosto
supply-demand | domanda / offerta
outward-return | andata / ritorno
morning-evening | mattina mattino / sera pomeriggio
ordered-delivered | ordinato ordinati / consegnato consegnati
issued-received | emesso emessa emesse emessi inviato / ricevuto ricevuta ricevute ricevuti
add-remove | aggiunto aggiungere / rimosso togliere
"""

NEGATIVE_PREFIXES: Final = (
    "non",
    "non-",
    "in",
    "im",
    "ir",
    "il",
    "dis",
    "s",
    "de",
    "anti",
    "a",
    "mal",
)
COPULAS: Final = "significa significano è sono indica indicano denota"
NOTES: Final = "nota nb osservazione"
"""What may stand before a definition without being part of it."""
CLASS_NOUNS: Final = """
tipo classe gruppo vitamina stadio grado livello categoria fascia serie modello stato codice canale
epatite piano zona opzione lettera sezione fase versione conto
"""
"""Words after which a single capital letter is a name."""
ENDINGS: Final = "o/i io/i a/e a/he o/hi e/i ia/e"
"""Endings that a word may change without becoming another one: singular and plural."""
MONTHS: Final = (
    "gennaio gen",
    "febbraio feb",
    "marzo mar",
    "aprile apr",
    "maggio mag",
    "giugno giu",
    "luglio lug",
    "agosto ago",
    "settembre set",
    "ottobre ott",
    "novembre nov",
    "dicembre dic",
)
ARTICLES: Final = "un uno una un'"
DECIMAL_COMMA: Final = True

_UNITS: Final = """
zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici
quindici sedici diciassette diciotto diciannove
"""
_TENS: Final = "venti trenta quaranta cinquanta sessanta settanta ottanta novanta"


def numbers() -> dict[str, Decimal]:
    """Number words up to 999, and whole thousands: Italian writes each as one word."""
    units = _UNITS.split()
    below = {word: n for n, word in enumerate(units)}
    for n, ten in enumerate(_TENS.split(), 2):
        below[ten] = 10 * n
        for unit in range(1, 10):
            stem = ten[:-1] if unit in (1, 8) else ten
            below[stem + units[unit]] = 10 * n + unit
    below |= {
        word[:-3] + "tré": n for word, n in list(below.items()) if word.endswith("tre") and n > 20
    }
    found = dict(below)
    for n in range(1, 10):
        hundred = "cento" if n == 1 else units[n] + "cento"
        found[hundred] = 100 * n
        found |= {hundred + word: 100 * n + v for word, v in below.items() if v}
    found["mille"] = 1000
    found |= {word + "mila": 1000 * v for word, v in list(found.items()) if 1 < v < 1000}
    found |= {
        "dozzina": 12,
        "ventina": 20,
        "trentina": 30,
        "cinquantina": 50,
    }
    del found["uno"]
    numbers = {word: Decimal(v) for word, v in found.items()}
    return numbers | {"metà": Decimal("0.5"), "mezzo": Decimal("0.5"), "mezza": Decimal("0.5")}


def compound(word: str, known: Mapping[str, Decimal]) -> Decimal | None:
    """Values such as ``duemilaventi`` and ``millecento``: thousands and the rest in one word."""
    for mark in ("mila", "mille"):
        head, found, tail = word.partition(mark)
        if not found or (mark == "mille" and head) or (mark == "mila" and not head):
            continue
        thousands = known.get(head) if head else Decimal(1)
        rest = known.get(tail) if tail else Decimal(0)
        if thousands is not None and rest is not None and thousands < 1000 and rest < 1000:
            return thousands * 1000 + rest
    return None
