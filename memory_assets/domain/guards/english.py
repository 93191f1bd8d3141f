"""English: phrases, fillers, synonyms and opposites for the guards."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

PHRASES: Final = """
post:>= | or more, or older, or greater, or above, or higher, or longer, or later, and above,
    and over, and older, and up, and more, upwards
post:<= | or less, or fewer, or under, or below, or younger, or lower, or shorter, or earlier,
    and below, and under, and younger
op:>= | at least, no less than, no fewer than, not less than, not fewer than, not lower than,
    not below, not under, greater than or equal to, more than or equal to, greater or equal to,
    equal to or greater than, equal to or more than, no earlier than, not earlier than, not
    before, not smaller than, not shorter than, not younger than, as a minimum, at a minimum,
    starting at
op:>= ? agg:min | minimum of, a minimum of, min
op:<= | at most, no more than, not more than, not greater than, not above, not over, not
    exceeding, does not exceed, do not exceed, not exceed, not higher than, not longer than,
    less than or equal to, lower than or equal to, equal to or less than, no later than, not
    later than, not after, as a maximum, at a maximum
op:<= ? agg:max | maximum of, a maximum of, max
op:<= ? rel:until | up to
op:> | more than, greater than, larger than, bigger than, higher than, longer than, older than,
    in excess of, strictly more than, strictly greater than, strictly above, exceed*, surpass*
op:> ? | above, beyond
op:> ? filler | over
op:< | less than, lower than, fewer than, smaller than, shorter than, younger than, strictly
    less than, strictly below
op:< ? | under, below
op:!= | not equal to, different from, other than, differs from, is unequal to
op:= | equal to, equals, is equal to
op:between | between
op:like | like, matches pattern
rel:since | since, starting from, as of
rel:since ? prep:from | from
rel:until | until, till, through
rel:before | before, prior to, earlier than, ahead of
rel:after | after, later than, following
rel:within | within, in less than or equal to, inside of
rel:minus ? rel:minus | minus, net of, after subtracting, after deducting, after deduction of,
    subtracting, subtract*, deduct*
op:< ? rel:minus | less
rel:plus | plus, added to, summed with
rel:times | times, multiplied by
rel:div | divided by, ratio of
rel:instead | instead of, rather than, in place of
filler ? neg | no
neg | not, non, never, nor, neither, none, cannot, isn't, aren't, wasn't, weren't, doesn't, don't,
    didn't, hasn't, haven't, won't, can't, shouldn't, mustn't, does not hold, do not hold,
    does not, do not, is not, are
    not, has not, have not, was not, were not, lack*, fails to, absence of, nobody, nothing
neg.excl | unless, exclud*, exclus*, without, except, except for, excepting, apart from, aside
    from, omit*, ignor*, disregard*, leav* out, left out, not including, not included, not
    include, not includes, does not include, do not include, is not included, are not included,
    not counting, not counted, ruled out, filter* out, but not, removing, removed from
incl | includ*, inclus*, not excluding, not excluded, not exclude, compris*, contain*, along
    with, together with, as well as
q:only | only, solely, exclusively, just, nothing but, alone
q:all | all, every, any, each, whichever
q:some | some, several
q:exactly | exactly, precisely
q:approx | about, approximately, roughly, around, circa, almost, nearly
q:both | both
q:either | either
logic:or | or, either or
logic:and | and, but, while
agg:count | count, counts, counted, counting, number of, numbers of, no of, how many, tally
agg:sum | sum, sums, summed, summing, total of, totals of, summation, add up, adds up, added up
agg:sum? | total, totals, overall, cumulative
agg:avg | average, averages, averaged, averaging, avg, mean of, mean value, arithmetic mean
agg:avg? | mean
agg:median | median, medians
agg:min | minimum, minima, smallest, lowest
agg:max | maximum, maxima, largest, highest, greatest, biggest
agg:distinct | distinct, unique, uniquely, deduplicated, different values, without duplicates,
    no duplicates
agg:std | standard deviation, stddev, std
agg:var | variance
agg:percentile | percentile, percentiles, quantile, quartile, decile
agg:ratio? | percentage, percent of, proportion, share of, fraction of, rate of
grain:hour | hourly, per hour, by hour, each hour, every hour, for each hour, by the hour
grain:day | daily, per day, by day, each day, every day, for each day, by the day, day by day
grain:week | weekly, per week, by week, each week, every week, for each week, week by week
grain:month | monthly, per month, by month, each month, every month, for each month, month by
    month, by calendar month
grain:quarter | quarterly, per quarter, by quarter, each quarter, every quarter, for each
    quarter, quarter by quarter
grain:semester | half-yearly, semiannual*, biannual*, per semester, by semester, each semester
grain:year | yearly, annual, annually, per year, by year, each year, every year, for each year,
    year by year, by calendar year, per annum
grain:decade | per decade, by decade
grain:fortnight | fortnightly, biweekly, every two weeks
unit:second | seconds, sec, secs
unit:minute | minute, minutes, mins
unit:hour | hour, hours, hrs, hr
unit:day | day, days
unit:working_day | working day, working days, business day, business days, workday, workdays
unit:week | week, weeks
unit:fortnight | fortnight, fortnights
unit:month | month, months
unit:quarter | quarter, quarters, trimester, trimesters
unit:semester | semester, semesters, half-year, half-years
unit:year | year, years, yrs
unit:decade | decade, decades
unit:eur | eur, euro, euros, €
unit:usd | usd, dollar, dollars, $, us dollars
unit:gbp | gbp, £, pound sterling, pounds sterling
unit:chf | chf, swiss francs, swiss franc
unit:jpy | jpy, yen, ¥
unit:cent | cents, eurocents, cent
unit:percent | percent, per cent, %, pct
unit:point | percentage points, percentage point, basis points, bps
unit:kg | kg, kilogram, kilograms, kilo, kilos
unit:g | g, gram, grams, gr
unit:mg | mg, milligram, milligrams
unit:mcg | mcg, microgram, micrograms, µg, μg
unit:t | tonne, tonnes, ton, tons
unit:lb | lb, lbs, pound, pounds
unit:km | km, kilometre, kilometres, kilometer, kilometers
unit:m | m, metre, metres, meter, meters
unit:cm | cm, centimetre, centimetres, centimeter, centimeters
unit:mm | mm, millimetre, millimetres, millimeter, millimeters
unit:mile | mile, miles
unit:m2 | m², m2, square metres, square meters, sqm
unit:m3 | m³, m3, cubic metres, cubic meters
unit:hectare | hectare, hectares, ha
unit:l | litre, litres, liter, liters
unit:ml | ml, millilitre, millilitres, milliliter, milliliters
unit:kwh | kwh, kilowatt-hours
unit:mwh | mwh, megawatt-hours
unit:celsius | celsius, °c
unit:fahrenheit | fahrenheit, °f
unit:byte | byte, bytes
unit:kb | kb, kilobytes
unit:mb | mb, megabytes
unit:gb | gb, gigabytes
unit:tb | tb, terabytes
unit:mmhg | mmhg
unit:bpm | bpm, beats per minute
scale:1000 | thousand, thousands
scale:1000000 | million, millions, mln
scale:1000000000 | billion, billions, bln
scale:100 | hundreds
bool:true | true, yes
bool:false | false
null | null, nulls, missing, blank, not available, empty, unknown, not set, unset, nan
ord:1 | first, 1st, initial, earliest
ord:2 | second, 2nd
ord:3 | third, 3rd
ord:4 | fourth, 4th
ord:5 | fifth, 5th
ord:last | final, latest, most recent
dir:past | previous, preceding, trailing, prior
dir:past ? | past
dir:past ? ord:last | last
dir:current | current
dir:next | next, coming, upcoming, subsequent, forthcoming
dir:past | in the last, in the past, over the last, over the past, during the last, during the
    past, within the last, within the past
modal:must | must, shall, have to, has to, mandatory, required, compulsory
modal:may | may, might, can, could, optional, optionally, allowed to
weekday:1 | monday, mondays
weekday:2 | tuesday, tuesdays
weekday:3 | wednesday, wednesdays
weekday:4 | thursday, thursdays
weekday:5 | friday, fridays
weekday:6 | saturday, saturdays
weekday:7 | sunday, sundays
cal:fiscal | fiscal, financial year, fiscal year
cal:calendar | calendar year, calendar, solar year
prep:to | to, toward, towards, into, onto
prep:by | by
prep:for | for, on behalf of
prep:with | with
prep:against | against
filler | to be, to have, to use, due to, with respect to, by means of, as opposed to, for
    example, is defined as, are defined as, we define, defined as, is considered, are
    considered, considered to be, refers to, refer to, stands for, stand for, is identified by,
    are identified by, is measured, are measured, is computed as, is calculated as, is set to,
    are set to, is given by, is called, is known as, in which, for which, in other words, that
    is, namely, such that, taking each, according to, based on, on the basis of, as
    follows
"""

FILLERS: Final = """
a an the this that these those it its is are was were be been being am has have had having do
does did
of in on at as than then there who whom whose which what when where whether how
if
we us our you your they them their he his she her i
means meaning meant denote denotes denoted signify signifies define defines defined
definition called considered consider considers
identify identifies identified indicate indicates indicated represent represents
use uses used using note nb i.e. ie e.g. eg so such thus hence will would should
compute computed calculate calculated calculates calculation
per via upon across
"""

MARKS: Final = """
the of and is are with which where by for means that from not to at least than each count an was
were has have it its on be this
"""

SYNONYMS: Final = """
customer client buyer shopper purchaser
revenue turnover sales income
product article item good
vendor supplier seller
employee worker staff
purchase buy acquire
stay hospitalization hospitalisation
duration length last lasting span
physician doctor clinician
drug medicine medication
begin start commence
end finish terminate conclude
whole entire complete
bill invoice
error fault mistake
car vehicle automobile
film movie
delete remove erase
paediatric pediatric
cancelled canceled
amount sum
area zone
price cost
shipment delivery
shipped delivered dispatched
churned lost
person individual
company firm business enterprise
patient subject
lot batch
claim request
reworked remade
"""

OPPOSITES: Final = """
first-last | first earliest initial / last latest final
inpatient-outpatient | inpatient / outpatient
gross-net | gross / net
open-closed | open opened / closed
start-end | start begin started beginning / end ended finish ending
up-down | increase rise growth gain upward / decrease fall drop decline downward
profit-loss | profit gain / loss
income-expense | income revenue inflow / expense outflow expenditure
credit-debit | credit / debit
buy-sell | buy purchase bought purchased / sell sale sold
import-export | import imported / export exported
in-out | incoming inbound input / outgoing outbound output
internal-external | internal inside / external outside
domestic-foreign | domestic national / foreign international
male-female | male man men boy / female woman women girl
public-private | public / private
new-existing | new / old existing
high-low | high higher highest upper / low lower lowest
large-small | large big / small little
long-short | long / short
early-late | early / late
urgent-planned | urgent emergency / elective scheduled planned programmed
active-inactive | active / inactive dormant
valid-invalid | valid / invalid void
accepted-rejected | accepted approved / rejected refused declined
confirmed-cancelled | confirmed / cancelled canceled
paid-unpaid | paid / unpaid outstanding
present-absent | present / absent
positive-negative | positive / negative
success-failure | success succeeded successful / failure failed unsuccessful
left-right | left / right
north-south | north northern / south southern
east-west | east eastern / west western
day-night | daytime / night nighttime
weekday-weekend | weekday / weekend
online-offline | online / offline
manual-automatic | manual / automatic
direct-indirect | direct / indirect
primary-secondary | primary / secondary
parent-child | parent / child
sender-recipient | sender / recipient receiver
origin-destination | source origin / target destination
employer-employee | employer / employee
creditor-debtor | lender creditor / borrower debtor
supplier-customer | supplier vendor seller / customer client buyer
arrival-departure | arrival arrived / departure departed
admission-discharge | admission admitted / discharge discharged
entry-exit | entry / exit
hired-dismissed | hired / dismissed fired
win-lose | win won / lose lost
ascending-descending | ascending / descending
minimum-maximum | minimum / maximum
wholesale-retail | wholesale / retail
actual-planned | actual / budgeted forecast estimated
adult-minor | adult / child minor
living-dead | living alive / dead deceased
full-partial | full / partial
fixed-variable | fixed / variable
permanent-temporary | permanent / temporary
single-married | single / married
enabled-disabled | enabled / disabled
visible-hidden | visible / hidden
add-remove | add added / remove removed
ordered-delivered | ordered / delivered
issued-received | issued sent / received
"""

NEGATIVE_PREFIXES: Final = (
    "non",
    "non-",
    "un",
    "in",
    "im",
    "ir",
    "il",
    "dis",
    "mis",
    "de",
    "anti",
    "a",
)
COPULAS: Final = "mean means is are denote denotes"
NOTES: Final = "note nb remark"
"""What may stand before a definition without being part of it."""
CLASS_NOUNS: Final = """
type class group vitamin stage grade level category series model status code channel hepatitis plan
zone option letter section step phase version
"""
"""Words after which a single capital letter is a name."""
ENDINGS: Final = "/s /es y/ies /ed /d"
"""Endings that a word may change without becoming another one: singular and plural, mostly."""
MONTHS: Final = (
    "january jan",
    "february feb",
    "march mar",
    "april apr",
    "may",
    "june jun",
    "july jul",
    "august aug",
    "september sep sept",
    "october oct",
    "november nov",
    "december dec",
)
ARTICLES: Final = "one a an"
DECIMAL_COMMA: Final = False

_UNITS: Final = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety"


def numbers() -> dict[str, Decimal]:
    """Number words of one word, hyphenated ones included."""
    units = _UNITS.split()
    found = {word: Decimal(n) for n, word in enumerate(units)}
    for n, ten in enumerate(_TENS.split(), 2):
        found[ten] = Decimal(10 * n)
        for unit in range(1, 10):
            found[f"{ten}-{units[unit]}"] = Decimal(10 * n + unit)
    found |= {"hundred": Decimal(100), "dozen": Decimal(12), "half": Decimal("0.5")}
    found["twice"] = Decimal(2)
    del found["one"]
    return found
