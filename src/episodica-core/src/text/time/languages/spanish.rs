//! Spanish: expressions of time, and past verb forms.

use crate::text::time::calendar::{Holiday, Unit};
use crate::text::time::patterns::{FEW, Meaning, Step, Vocabulary};
use crate::text::time::tense::{Rule, Tense};

pub(in crate::text::time) const TENSE: Tense = Tense {
    shadows: &["sé|té|qué|porqué|por qué|café|bebé|olé|paté|chalé|allí|aquí|así|ahí|casi|sí|mí"],
    intentions: &[
        "está|estaré|iré|seré|tendré|podré",
        "voy|vas|va|vamos|vais|van|quiero|queremos|espero|esperamos|toca|habrá|tengo|tenemos|\
         tiene|tienen|hay|puedo|podemos|pienso|pensamos|nos vemos|estamos",
        r"\p{L}+(?:aré|eré|iré|dré|rás|rá|remos|rán)",
        // What is arranged lies ahead.
        concat!(
            r"(?:he|has|ha|hemos|han) (?:ya )?(?:apuntado|reservado|alquilado|inscrito|",
            r"matriculado|invitado|prometido|quedado|(?:comprado|sacado|cogido) (?:\p{L}+ )?",
            r"(?:billetes?|entradas?))",
        ),
        concat!(
            r"(?:reservé|reservamos|reservó|apunté|apuntamos|inscribí|inscribimos|alquilé|",
            r"alquilamos|prometí|invitaron|(?:compré|compramos|saqué) (?:\p{L}+ )?",
            r"(?:billetes?|entradas?))",
        ),
        r"(?:está|están|estoy|estamos) (?:previst|programad|fijad|reservad|cerrad|invitad)\p{L}+",
    ],
    past: &[
        "fui|fue|fuimos|fueron|fuiste|tuve|tuvo|tuvimos|tuvieron|hice|hizo|hicimos|hicieron|estuve|\
         estuvo|estuvimos|estuvieron|vi|vio|di|dio|vine|vino|vinieron|vinimos|pude|pudo|pudimos|\
         puse|puso|dije|dijo|traje|trajo|quise|quiso|supe|supo|había|habían|tenía|tenían|era|\
         eran|iba|iban|hacía|vivía|vivíamos|quería|podía|nací",
        r"(?:he|has|ha|hemos|habéis|han) (?:\p{L}+ )?\p{L}+(?:ado|ido|cho|sto|rto|elto|ito)",
        r"(?:preparé|esperé|miré|tiré|retiré|paré|separé|comparé|reparé|superé|giré|entré|compré)",
        r"\p{L}{2,}(?:aste|iste|aron|ieron|eron|ó|aba|aban|ábamos)",
        r"\p{L}*[\p{L}--r]é|\p{L}+[bcgmnopt]ré|\p{L}{2,}í",
        "desde",
    ],
    ahead: &[],
    // Forms that are the same in the present and in the past.
    open: &[r"\p{L}{2,}(?:amos|imos)"],
    participle: "",
    irregular: "",
    conjunctions: "y|pero|porque|o|así que|aunque",
    rule: Rule::PastFirst,
    spaced: true,
};

pub(in crate::text::time) const VOCABULARY: Vocabulary = Vocabulary {
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
        ("días?|dias?", Unit::Day),
        ("semanas?", Unit::Week),
        ("fin(?:es)? de semana|finde", Unit::Weekend),
        ("mes(?:es)?", Unit::Month),
        ("años?", Unit::Year),
        ("décadas?", Unit::Decade),
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
        ("trasanteayer", Meaning::Day(-3)),
        ("anteayer|antes de ayer|antier", Meaning::Day(-2)),
        ("anteanoche", Meaning::Day(-2)),
        ("ayer(?: por la (?:mañana|tarde|noche)| noche| al mediodía)?|anoche", Meaning::Day(-1)),
        ("hoy(?: por la (?:mañana|tarde|noche))?|esta (?:mañana|tarde|noche)", Meaning::Day(0)),
        ("pasado mañana(?: por la (?:mañana|tarde|noche))?", Meaning::Day(2)),
        ("mañana(?: por la (?:mañana|tarde|noche)| mismo)?", Meaning::Tomorrow),
        ("hace (?:medio año|seis meses)", Meaning::MonthsAway(-6)),
        ("hace (?:año y medio|un año y medio)", Meaning::MonthsAway(-18)),
        ("hace (?:ya |casi |más de |unos |unas |como )?{n} {unit}", Meaning::Ago),
        ("{n} {unit} atrás", Meaning::Ago),
        ("dentro de (?:medio año|seis meses)", Meaning::MonthsAway(6)),
        ("de hoy en ocho(?: días)?", Meaning::Day(7)),
        ("dentro de (?:unos |unas )?{n} {unit}", Meaning::InUnits),
        ("en {n} {unit}", Meaning::InUnits),
        (
            "el (?:próximo )?{wd} (?:de la semana que viene|de la próxima semana|de la semana \
             próxima)",
            Meaning::WeekdayOf(1),
        ),
        ("el {wd} de la semana pasada", Meaning::WeekdayOf(-1)),
        ("el {wd} de esta semana", Meaning::WeekdayOf(0)),
        ("(?:el |este )?(?:pasado|último) {wd}", Meaning::Weekday(Step::Last)),
        (
            "(?:el |este )?{wd} pasado(?: por la (?:mañana|tarde|noche))?",
            Meaning::Weekday(Step::Last),
        ),
        ("(?:el |este )?próximo {wd}", Meaning::Weekday(Step::Next)),
        (
            "(?:el |este )?{wd} (?:próximo|que viene|siguiente)(?: por la (?:mañana|tarde|noche))?",
            Meaning::Weekday(Step::Next),
        ),
        ("este {wd}", Meaning::Weekday(Step::This)),
        ("(?:el |la )?{unit} antepasad[oa]", Meaning::Unit(-2)),
        ("(?:el |la )?(?:pasad[oa]|últim[oa]) {unit}", Meaning::Unit(-1)),
        ("(?:el |la |este )?{unit} pasad[oa]", Meaning::Unit(-1)),
        ("(?:el |la )?próxim[oa] {unit}", Meaning::Unit(1)),
        ("(?:el |la |este )?{unit} (?:próxim[oa]|que viene|que entra)", Meaning::Unit(1)),
        ("(?:este|esta) {unit}", Meaning::Unit(0)),
        ("(?:el |la )?{season} pasad[oa]", Meaning::Season(Step::Last)),
        ("(?:el |la )?próxim[oa] {season}", Meaning::Season(Step::Next)),
        ("(?:el |la )?{season} (?:próxim[oa]|que viene)", Meaning::Season(Step::Next)),
        ("(?:este|esta) {season}", Meaning::Season(Step::This)),
        ("(?:en|en el|en la|el|la) {season}(?: del? {y})?", Meaning::Season(Step::Tense)),
        ("(?:en |el )?{mon} pasado", Meaning::Month(Step::Last)),
        ("(?:en |el )?{mon} (?:próximo|que viene)", Meaning::Month(Step::Next)),
        ("(?:la |el )?{feast} pasad[oa]", Meaning::Feast(Step::Last)),
        (
            "(?:del|desde el|entre el|los días) {d} (?:al|hasta el|y el|y) {d2} de {mon}(?: del? \
             {y})?",
            Meaning::Date,
        ),
        (
            "(?:(?:el|al|del|desde el|hasta el|para el|sobre el) )?(?:{anywd},? )?(?:el )?(?:día \
             )?{d} de {mon}(?:,? (?:del? )?{y})?",
            Meaning::Date,
        ),
        ("(?:el|al|del|desde el|hasta el) (?:día )?{d}", Meaning::DayOfMonth),
        (
            "(?:a )?(?:principios|comienzos|inicios|mediados|finales|fines) (?:del? (?:mes de \
             )?){mon}(?: del? {y})?",
            Meaning::Month(Step::Tense),
        ),
        (
            "(?:a )?(?:principios|comienzos|mediados|finales|fines) de año",
            Meaning::This(Unit::Year),
        ),
        ("(?:a )?(?:finales|fines|final) de mes", Meaning::This(Unit::Month)),
        (
            "(?:en|desde|hasta|para|durante|desde principios de) (?:el mes de )?{mon}\
             (?: del? {y})?",
            Meaning::Month(Step::Tense),
        ),
        ("{mon} del? {y}", Meaning::Month(Step::Tense)),
        ("(?:en|desde|hasta|en el año|principios de|finales de|mediados de) {y}", Meaning::Year),
        (
            "(?:en|por|para|desde|hasta|el|el día de) {feast}(?: del? {y})?",
            Meaning::Feast(Step::Tense),
        ),
        ("desde el {wd}", Meaning::Weekday(Step::Last)),
        (
            "(?:el|este|para el|hasta el|del) {wd}(?: por la (?:mañana|tarde|noche))?",
            Meaning::Weekday(Step::Tense),
        ),
    ],
    habits: "cada|todos los|todas las|siempre|normalmente|cumpleaños|los lunes|los martes|los \
        miércoles|los jueves|los viernes|los sábados|los domingos",
    day_words: &[("primero", 1)],
    mornings: "turno de|la|las|esta|cada|una|toda la|por la|de la|buena",
    goes_on: "y|pero|o|a las|a la|por \
        la|me|nos|se|te|le|que|tengo|tenemos|hay|es|voy|vamos|viene|vienen|de este \
        mes|en|con|para|no|ya|cuando|empiezo|empieza|fui|fue|fuimos|llega|sale|salimos|vence|\
        abre|toca|yo|porque|si|como|celebramos|vuelvo|entrego|firmamos|firmé|llegó|vino|tuve|\
        tuvimos",
    rejected: &[r"(?:cada|un|algún|todos los) (?:{anywd})$"],
    counted: "por ciento|euros|kilómetros|km|personas|horas|minutos|metros|veces|grados|kilos",
    day_first: true,
};
