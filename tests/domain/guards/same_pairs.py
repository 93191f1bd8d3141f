"""Pairs of definitions that mean the same, in our own words: Italian, English and across.

Each third item says how the wording differs.
"""

from __future__ import annotations

from typing import Final

Pair = tuple[str, str, str]

SAME: Final[tuple[Pair, ...]] = (
    (
        "A loyal shopper places more than five orders in a calendar year.",
        "Loyal shopper: > 5 orders in a calendar year",
        "para",
    ),
    (
        "An employee is full time when weekly hours are at least 36.",
        "Full time employee: no fewer than thirty-six hours weekly.",
        "para",
    ),
    (
        "Cliente a rischio: nessun acquisto negli ultimi sei mesi.",
        "Si definisce a rischio il cliente senza acquisti negli ultimi 6 mesi.",
        "para",
    ),
    (
        "Revenue per employee is total revenue divided by headcount.",
        "Revenue per employee = total revenue / headcount",
        "para",
    ),
    ("Interest is compounded monthly.", "Interest is compounded each month.", "para"),
    ("Il saldo medio mensile del conto.", "La media del saldo del conto per mese.", "para"),
    (
        "A dormant account has had no transactions for 90 days.",
        "Dormant account: account without transactions for ninety days.",
        "para",
    ),
    ("Contracts signed on 3 March 2021", "Contracts whose signature date is 2021-03-03", "para"),
    (
        "Il numero di pazienti ricoverati per reparto.",
        "Conteggio dei pazienti ricoverati, per reparto",
        "para",
    ),
    (
        "Il margine operativo è la differenza tra ricavi e costi operativi.",
        "Margine operativo = ricavi - costi operativi",
        "para",
    ),
    (
        "A repeat buyer has purchased at least twice.",
        "Repeat buyers are customers with two or more purchases.",
        "para",
    ),
    (
        "Paziente anziano: età pari o superiore a 65 anni.",
        "Sono anziani i pazienti di almeno 65 anni.",
        "para",
    ),
    (
        "Exclude test accounts from every metric.",
        "Test accounts are excluded from all metrics.",
        "para",
    ),
    ("Gli importi sono al netto dell'IVA.", "Importi IVA esclusa.", "para"),
    ("Amounts are net of VAT.", "Amounts exclude VAT.", "para"),
    (
        "A valid email contains exactly one @.",
        "Email is valid if it contains exactly one @.",
        "para",
    ),
    (
        "Late delivery: delivered after the promised date.",
        "A delivery is late when it arrives after the date that was promised.",
        "para",
    ),
    (
        "High value order = order with amount > 1000 EUR",
        "Ordine di valore elevato = ordine con importo > 1.000 euro",
        "cross",
    ),
    ("Orders shipped within 2 days.", "Ordini spediti entro due giorni.", "cross"),
    ("Average monthly spend per customer.", "Spesa media mensile per cliente.", "cross"),
    (
        "Patients with no visits in the last 12 months are inactive.",
        "Sono inattivi i pazienti senza visite negli ultimi 12 mesi.",
        "cross",
    ),
    ("Fiscal year starts on 1 April.", "L'anno fiscale inizia il 1° aprile.", "cross"),
    (
        "Turnover is expressed in thousands of euros.",
        "Il fatturato è espresso in migliaia di euro.",
        "cross",
    ),
    (
        "A loyal customer has bought 3 or more times.",
        "Un cliente fedele ha acquistato tre o più volte.",
        "cross",
    ),
    (
        "Quota di mercato = vendite / vendite totali",
        "quota di mercato=vendite/vendite totali.",
        "surface",
    ),
    (
        "Day hospital: ricovero senza pernottamento.",
        "Per day hospital si intende un ricovero senza pernottamento.",
        "para",
    ),
    (
        "Churn rate is customers lost in the month over customers at the start of the month.",
        "Churn rate = customers lost in the month divided by customers at the start of the month",
        "para",
    ),
    (
        "Bed occupancy is the share of beds in use at midnight.",
        "Bed occupancy: share of beds that are in use at midnight",
        "para",
    ),
    (
        "A late payment is one made more than two weeks after the due date.",
        "Payments made over 2 weeks after the due date are late.",
        "para",
    ),
    ("Count distinct sessions per user.", "Number of unique sessions for each user", "para"),
    ("Somma degli importi per cliente.", "Per ogni cliente, la somma degli importi.", "para"),
    (
        "Contratti con durata non inferiore a 12 mesi.",
        "Contratti che durano almeno dodici mesi.",
        "para",
    ),
    (
        "Ward transfers do not count as a new stay.",
        "Transfers between wards are not counted as new stays.",
        "para",
    ),
    (
        "An order is complete when all its lines are shipped.",
        "Complete order: order whose lines have all been shipped.",
        "para",
    ),
    (
        "Un ordine è completo quando tutte le righe sono spedite.",
        "Ordine completo = tutte le righe spedite",
        "para",
    ),
    (
        "Le assenze si contano in giorni lavorativi.",
        "Le assenze vengono contate in giorni lavorativi.",
        "para",
    ),
    (
        "Il debito è diviso per il patrimonio netto.",
        "Rapporto tra debito e patrimonio netto.",
        "para",
    ),
    (
        "Clienti con almeno un ordine e nessun reso.",
        "I clienti che hanno fatto almeno un ordine e non hanno resi.",
        "para",
    ),
    (
        "L'esercizio va da gennaio a dicembre.",
        "L'esercizio inizia a gennaio e termina a dicembre.",
        "para",
    ),
    ("Temperature above 38 °C.", "Temperature higher than 38 degrees Celsius.", "para"),
    (
        "Sconto del 10% sul primo ordine.",
        "Sul primo ordine si applica uno sconto del 10 per cento.",
        "para",
    ),
    ("The total includes taxes.", "Taxes are included in the total.", "para"),
    ("A minor is a person under 18.", "Persons younger than eighteen are minors.", "para"),
    ("Pazienti dimessi al domicilio.", "Pazienti che tornano a casa dopo la dimissione.", "para"),
    ("Clienti residenti in Lombardia.", "Clienti con residenza in Lombardia.", "para"),
    (
        "Growth is this year's sales over last year's sales.",
        "Growth = sales of this year / sales of last year",
        "para",
    ),
    ("Monthly active users.", "Utenti attivi mensili.", "cross"),
    ("A minor is a person under 18.", "Un minore è una persona sotto i 18 anni.", "cross"),
    ("The total includes taxes.", "Il totale include le tasse.", "cross"),
    ("Prices are in euros, taxes excluded.", "I prezzi sono in euro, tasse escluse.", "cross"),
    (
        "Returned goods are those with return_flag = 'Y'.",
        "I beni resi sono quelli con return_flag = 'Y'.",
        "cross",
    ),
    (
        "Students who passed the exam at the first attempt.",
        "Studenti che hanno superato l'esame al primo tentativo.",
        "cross",
    ),
    (
        "Employees hired before 1 January 2015 keep the old plan.",
        "I dipendenti assunti prima del 1° gennaio 2015 mantengono il vecchio piano.",
        "cross",
    ),
    ("Count the distinct customers.", "Si contano i clienti distinti.", "cross"),
    (
        "Il sinistro è aperto se non c'è data di chiusura.",
        "Un sinistro senza data di chiusura è aperto.",
        "para",
    ),
    (
        "A claim is large when the paid amount exceeds 50,000 EUR.",
        "Large claim: more than 50,000 euros have been paid.",
        "para",
    ),
    ("Loss ratio = claims / premiums", "The loss ratio is claims divided by premiums.", "para"),
    (
        "Rainy day: more than 1 mm of rain.",
        "A day is rainy if rainfall is above 1 millimetre.",
        "para",
    ),
    ("Energia prodotta in kWh.", "L'energia prodotta, espressa in chilowattora.", "para"),
    (
        "Tenure is measured from the hire date.",
        "We measure tenure starting from the date of hire.",
        "para",
    ),
    ("status IN ('OPEN', 'PENDING')", "status is 'OPEN' or 'PENDING'", "para"),
    ("Top 10 customers by revenue", "The ten customers with the highest revenue", "para"),
    ("Null values are not counted.", "Nulls are excluded from the count.", "para"),
    (
        "Students enrolled in the current academic year.",
        "Students who are enrolled this academic year.",
        "para",
    ),
    ("Incidenza per 100.000 abitanti.", "Numero di casi ogni centomila abitanti.", "para"),
    ("Temperatura massima giornaliera.", "La temperatura più alta del giorno.", "para"),
    ("Voto medio ponderato per i crediti.", "Media dei voti pesata con i crediti.", "para"),
    (
        "Premio lordo: premio comprensivo delle imposte.",
        "Il premio lordo include le imposte.",
        "para",
    ),
    (
        "A loan in default: 90 days past due.",
        "Un prestito in default: 90 giorni di ritardo.",
        "cross",
    ),
    ("Credit limit in euros.", "Limite di credito in euro.", "cross"),
    ("Flights departing from Rome.", "Voli in partenza da Roma.", "cross"),
    ("Median income by household.", "Reddito mediano per famiglia.", "cross"),
)
