//! Spanish: expressions of time, and past verb forms.

use crate::text::time::calendar::CalendarUnit;
use crate::text::time::grammar::{
    DateVocabulary, FEW, NamedStep, PatternMeaning, TenseRule, TenseSigns,
};
use crate::text::time::holidays::Holiday;

pub(in crate::text::time) const TENSE: TenseSigns = TenseSigns {
    shadows: &[
        "acaban?|graban?|sé|té|qué|porqué|por qué|café|bebé|olé|paté|chalé|allí|aquí|así|ahí|\
         casi|sí|mí",
    ],
    intentions: &[
        "está|estaré|iré|seré|tendré|podré",
        "voy|vas|va|vamos|vais|van|quiero|queremos|espero|esperamos|toca|habrá|tengo|tenemos|\
         tiene|tienen|puedo|podemos|pienso|pensamos|nos vemos|estamos|estoy",
        r"\p{L}+(?:aré|eré|iré|dré|rás|rá|remos|rán)",
        concat!(
            r"(?:está|están|estoy|estamos) (?:previst|programad|fijad|reservad|cerrad|invitad|",
            r"anotad|apuntad)\p{L}+",
        ),
    ],
    arranged: &[
        concat!(
            r"(?:he|has|ha|hemos|han) (?:ya )?(?:apuntado|reservado|alquilado|inscrito|",
            r"matriculado|invitado|prometido|quedado|(?:comprado|sacado|cogido|pedido|",
            r"dado) (?:\p{L}+ )?",
            r"(?:billetes?|entradas?|cita|hora))",
        ),
        concat!(
            r"(?:reservé|reservamos|reservó|apunté|apuntamos|inscribí|inscribimos|alquilé|",
            r"alquilamos|prometí|invitaron|(?:compré|compramos|saqué|pedí|dieron) (?:\p{L}+ )?",
            r"(?:billetes?|entradas?|cita|hora))",
        ),
    ],
    purposes: "para|a|al",
    doubts: &[
        concat!(
            r"(?:he|has|ha|hemos|han) (?:\p{L}+ )?(?:dicho|comentado|preguntado|contado|anotado|",
            r"marcado|escrito (?:\p{L}+ )?que)",
        ),
        "anoté|anotamos|marqué",
        "dijo|dije|dijeron|dice|dicen|comentó|preguntó|contó|escribió (?:\\p{L}+ )?que|puede|\
         podría",
    ],
    past: &[
        "fui|fue|fuimos|fueron|fuiste|tuve|tuvo|tuvimos|tuvieron|hice|hizo|hicimos|hicieron|estuve|\
         estuvo|estuvimos|estuvieron|vi|vio|di|dio|vine|vino|vinieron|vinimos|pude|pudo|pudimos|\
         puse|puso|traje|trajo|quise|quiso|supe|supo|había|habían|tenía|tenían|era|\
         eran|iba|iban|hacía|vivía|vivíamos|quería|podía|nací",
        r"(?:he|has|ha|hemos|habéis|han) (?:\p{L}+ )?\p{L}+(?:ado|ido|cho|sto|rto|elto|ito)",
        r"(?:preparé|esperé|miré|tiré|retiré|paré|separé|comparé|reparé|superé|giré|entré|compré)",
        r"\p{L}{2,}(?:aste|iste|aron|ieron|eron|ó|aba|aban|ábamos)",
        r"\p{L}*[\p{L}--r]é|\p{L}+[bcgmnopt]ré|\p{L}{2,}í",
        "desde",
    ],
    ahead: &[],
    // Forms that are the same in the present and the past tense.
    open: &[r"\p{L}{2,}(?:amos|imos)"],
    participle: "",
    irregular: "",
    personal: "yo|ella|él|ellos|ellas|mi|mis|me|nos|nuestr[oa]s?|voy|tengo|hago|salgo|empiezo|\
     dejo|\\p{L}+mos",
    impersonal: "hace|hay|es|son|suelen?",
    conjunctions: "y|pero|porque|o|así que|aunque",
    rule: TenseRule::PastFirst,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: DateVocabulary = DateVocabulary {
    months: [
        "enero",
        "febrero",
        "marzo",
        "abril",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre|setiembre",
        "octubre",
        "noviembre",
        "diciembre",
    ],
    weekdays: [
        "lunes",
        "martes",
        "miércoles|miercoles",
        "jueves",
        "viernes",
        "sábado|sabado",
        "domingo",
    ],
    units: &[
        ("días?|dias?", CalendarUnit::Day),
        ("semanas?", CalendarUnit::Week),
        ("fin(?:es)? de semana|finde", CalendarUnit::Weekend),
        ("mes(?:es)?", CalendarUnit::Month),
        ("años?", CalendarUnit::Year),
        ("décadas?", CalendarUnit::Decade),
    ],
    numbers: &[
        ("un|una|uno", 1),
        ("dos|un par de", 2),
        ("tres", 3),
        ("cuatro", 4),
        ("cinco", 5),
        ("seis", 6),
        ("siete", 7),
        ("ocho", 8),
        ("nueve", 9),
        ("diez", 10),
        ("once", 11),
        ("doce", 12),
        ("quince", 15),
        ("veinte", 20),
        ("treinta", 30),
        ("cuarenta", 40),
        ("cincuenta", 50),
        ("unos|unas|unos pocos|unas pocas|algunos|algunas|pocos|pocas", FEW),
    ],
    seasons: ["primavera", "verano", "otoño", "invierno"],
    feasts: &[
        ("navidad|navidades|día de navidad", Holiday::Fixed(12, 25)),
        ("nochebuena", Holiday::Fixed(12, 24)),
        ("nochevieja|fin de año", Holiday::Fixed(12, 31)),
        ("año nuevo", Holiday::Fixed(1, 1)),
        ("reyes|día de reyes", Holiday::Fixed(1, 6)),
        ("san valentín", Holiday::Fixed(2, 14)),
        ("viernes santo", Holiday::Easter(-2)),
        ("domingo de resurrección|domingo de pascua", Holiday::Easter(0)),
        ("halloween", Holiday::Fixed(10, 31)),
        ("todos los santos", Holiday::Fixed(11, 1)),
        ("san juan", Holiday::Fixed(6, 24)),
    ],
    patterns: &[
        ("trasanteayer", PatternMeaning::Day(-3)),
        ("anteayer|antes de ayer|antier", PatternMeaning::Day(-2)),
        ("anteanoche", PatternMeaning::Day(-2)),
        (
            "ayer(?: por la (?:mañana|tarde|noche)| noche| al mediodía)?|anoche",
            PatternMeaning::Day(-1),
        ),
        (
            "hoy(?: por la (?:mañana|tarde|noche))?|esta (?:mañana|tarde|noche)",
            PatternMeaning::Day(0),
        ),
        ("pasado mañana(?: por la (?:mañana|tarde|noche))?", PatternMeaning::Day(2)),
        ("mañana(?: por la (?:mañana|tarde|noche)| mismo)?", PatternMeaning::Tomorrow),
        ("hace (?:medio año|seis meses)", PatternMeaning::MonthsAway(-6)),
        ("hace (?:año y medio|un año y medio)", PatternMeaning::MonthsAway(-18)),
        ("hace ocho días", PatternMeaning::WeeksAway(-1)),
        ("hace (?:quince|15) días", PatternMeaning::WeeksAway(-2)),
        ("(?:en|dentro de|de aquí a) ocho días", PatternMeaning::InWeeks(1)),
        ("(?:en|dentro de|de aquí a) (?:quince|15) días", PatternMeaning::InWeeks(2)),
        ("hace (?:ya |casi |más de |unos |unas |como )?{n} {unit}", PatternMeaning::Ago),
        ("{n} {unit} atrás", PatternMeaning::Ago),
        ("dentro de (?:medio año|seis meses)", PatternMeaning::MonthsAway(6)),
        ("de hoy en ocho(?: días)?", PatternMeaning::Day(7)),
        ("de hoy en quince(?: días)?", PatternMeaning::WeeksAway(2)),
        ("(?:(?:el|este) )?{wd} en ocho(?: días)?", PatternMeaning::WeekdayAnd(1)),
        ("(?:(?:el|este) )?{wd} en quince(?: días)?", PatternMeaning::WeekdayAnd(2)),
        ("(?:el )?{nth} {wd} de(?:l mes de)? {mon}(?: del? {y})?", PatternMeaning::NthWeekday),
        ("dentro de (?:unos |unas )?{n} {unit}", PatternMeaning::InUnits),
        ("en {n} {unit}", PatternMeaning::InUnits),
        ("de aquí a {n} {unit}", PatternMeaning::In),
        (
            "el (?:próximo )?{wd} (?:de la semana que viene|de la próxima semana|de la semana \
             próxima)",
            PatternMeaning::WeekdayOf(1),
        ),
        ("el {wd} de la semana pasada", PatternMeaning::WeekdayOf(-1)),
        ("el {wd} de esta semana", PatternMeaning::WeekdayOf(0)),
        ("(?:el |este )?(?:pasado|último) {wd}", PatternMeaning::Weekday(NamedStep::Last)),
        (
            "(?:el |este )?{wd} pasado(?: por la (?:mañana|tarde|noche))?",
            PatternMeaning::Weekday(NamedStep::Last),
        ),
        ("(?:el |este )?próximo {wd}", PatternMeaning::Weekday(NamedStep::Next)),
        (
            "(?:el |este )?{wd} (?:próximo|que viene)(?: por la (?:mañana|tarde|noche))?",
            PatternMeaning::Weekday(NamedStep::Next),
        ),
        ("este {wd}", PatternMeaning::Weekday(NamedStep::This)),
        ("(?:el |la )?{unit} antepasad[oa]", PatternMeaning::Unit(-2)),
        ("(?:el |la )?(?:pasad[oa]|últim[oa]) {unit}", PatternMeaning::Unit(-1)),
        ("(?:el |la |este )?{unit} pasad[oa]", PatternMeaning::Unit(-1)),
        ("(?:el |la )?próxim[oa] {unit}", PatternMeaning::Unit(1)),
        ("(?:el |la |este )?{unit} (?:próxim[oa]|que viene|que entra)", PatternMeaning::Unit(1)),
        ("(?:este|esta) {unit}", PatternMeaning::Unit(0)),
        ("(?:el |la )?{season} antepasad[oa]", PatternMeaning::Season(NamedStep::BeforeLast)),
        ("(?:el |la )?{season} pasad[oa]", PatternMeaning::Season(NamedStep::Last)),
        ("(?:el |la )?próxim[oa] {season}", PatternMeaning::Season(NamedStep::Next)),
        ("(?:el |la )?{season} (?:próxim[oa]|que viene)", PatternMeaning::Season(NamedStep::Next)),
        ("(?:este|esta) {season}", PatternMeaning::Season(NamedStep::This)),
        (
            "(?:en|en el|en la|el|la) {season}(?: del? {y})?",
            PatternMeaning::Season(NamedStep::Tense),
        ),
        ("(?:en )?{mon} del (?:año que viene|próximo año)", PatternMeaning::MonthOfYear(1)),
        ("(?:en )?{mon} del año pasado", PatternMeaning::MonthOfYear(-1)),
        ("este mes de {mon}", PatternMeaning::Month(NamedStep::Tense)),
        (
            "(?:el )?(?:día )?{d} del (?:mes que viene|próximo mes)",
            PatternMeaning::DayOfMonthAway(1),
        ),
        ("(?:el )?(?:día )?{d} del mes pasado", PatternMeaning::DayOfMonthAway(-1)),
        ("(?:el |del )?próximo (?:mes de )?{mon}", PatternMeaning::Month(NamedStep::Next)),
        ("(?:el |del )?pasado (?:mes de )?{mon}", PatternMeaning::Month(NamedStep::Last)),
        ("(?:en |el )?{mon} pasado", PatternMeaning::Month(NamedStep::Last)),
        ("(?:en |el )?{mon} (?:próximo|que viene)", PatternMeaning::Month(NamedStep::Next)),
        ("(?:la |el )?{feast} pasad[oa]", PatternMeaning::Feast(NamedStep::Last)),
        (
            "(?:del|desde el|entre el|los días|el) {d} ?(?:al|hasta el|y el|y|o el|o|\
             [-–]) ?{d2} de \
             {mon}(?: del? {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:del|desde el|entre el) {d} de {mon} (?:al|hasta el|y el) {d2} de {mon2}(?: del? \
             {y})?",
            PatternMeaning::Date,
        ),
        (
            "(?:(?:el|al|del|desde el|hasta el|para el|sobre el) )?(?:{anywd},? )?(?:el )?(?:día \
             )?{d} de {mon}(?:,? (?:del? )?{y})?",
            PatternMeaning::Date,
        ),
        ("(?:el|al|del|desde el|hasta el) (?:próximo )?(?:día )?{d}", PatternMeaning::DayOfMonth),
        ("(?:(?:el|al|para el|hasta el) )?{wd},? (?:día )?{d}", PatternMeaning::DayOfMonth),
        (
            "(?:a )?(?P<part>principios|comienzos|inicios|mediados|finales|\
             fines) (?:del? (?:mes de \
             )?){mon}(?: del? {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        (
            "(?:a )?(?:principios|comienzos|mediados|finales|fines) de año",
            PatternMeaning::This(CalendarUnit::Year),
        ),
        (
            "(?:a |antes de )?(?:finales|fines|final|fin) de mes",
            PatternMeaning::This(CalendarUnit::Month),
        ),
        (
            "(?:en|desde|hasta|para|durante|desde principios de|todo) (?:el mes de )?{mon}\
             (?: del? {y})?",
            PatternMeaning::Month(NamedStep::Tense),
        ),
        ("{mon} del? {y}", PatternMeaning::Month(NamedStep::Tense)),
        (
            "(?:en|desde|hasta|en el año|principios de|finales de|mediados de) {y}",
            PatternMeaning::Year,
        ),
        (
            "(?:en|por|para|desde|hasta|el|el día de) {feast}(?: del? {y})?",
            PatternMeaning::Feast(NamedStep::Tense),
        ),
        ("desde el {wd}", PatternMeaning::Weekday(NamedStep::Last)),
        (
            "(?:el|al|este|para el|hasta el|del) {wd}(?: por la (?:mañana|tarde|noche))?",
            PatternMeaning::Weekday(NamedStep::Tense),
        ),
    ],
    habits: "nací|cuando tenía|cada|todos los|todas las|siempre|normalmente|a veces|a menudo|\
        nunca|cumpleaños|cumple|cumplo|aniversario|(?:mi|tu|su) santo|\
        los lunes|los martes|los miércoles|los jueves|los viernes|\
        los sábados|los domingos",
    day_words: &[("primero", 1)],
    mornings: "turno de|la|las|esta|cada|una|toda la|por la|de la|buena",
    goes_on: "y|pero|o|a las|a la|por \
        la|me|nos|se|te|le|que|tengo|tenemos|hay|es|voy|vamos|viene|vienen|de este \
        mes|en|con|para|no|ya|cuando|empiezo|empieza|fui|fue|fuimos|llega|sale|salimos|vence|\
        abre|toca|yo|porque|si|como|celebramos|vuelvo|entrego|firmamos|firmé|llegó|vino|tuve|\
        tuvimos",
    rejected: &[
        r"(?:cada|un|algún|todos los) (?:{anywd})$",
        // It is a count: "tres semanas a partir de mañana".
        r"(?:{unit}) (?:a partir de|a contar desde|desde|después de|antes de) (?:mañana|hoy|ayer)$",
    ],
    counted: "por ciento|euros|kilómetros|km|personas|horas|minutos|metros|veces|grados|kilos",
    day_first: true,
};
