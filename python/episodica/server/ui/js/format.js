/* Dates and sizes in the reader's language. Dates stay on the clock of the message. */
import { el } from "./dom.js";
import { locale, t } from "./i18n.js";

const ISO = /^(-?\d+)-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d))?/;

/** The time as its own clock showed it: a date whose UTC parts are the local ones. */
function clock(iso) {
  const found = ISO.exec(iso);
  if (!found) return null;
  const [year, month, day, hour, minute, second] = found.slice(1).map((one) => Number(one ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return date;
}

function written(iso, options) {
  const date = iso ? clock(iso) : null;
  if (!date || Number.isNaN(date.getTime())) return String(iso ?? "");
  return new Intl.DateTimeFormat(locale(), { ...options, timeZone: "UTC" }).format(date);
}

const DAY = { year: "numeric", month: "short", day: "numeric" };
const MINUTE = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };

export const day = (iso) => written(iso, DAY);
export const minute = (iso) => written(iso, MINUTE);
export const moment = (iso) => written(iso, { ...DAY, ...MINUTE });
export const month = (iso) => written(iso, { year: "numeric", month: "long" });

/** A `time` element. */
export function time(iso, write = moment) {
  return el("time", { datetime: iso, title: iso }, write(iso));
}

/** From one time to another; one day is named once. */
export function span(from, to) {
  if (!to || to === from) return time(from);
  const same = day(from) === day(to);
  return el("span", time(from), " – ", time(to, same ? minute : moment));
}

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

/** A length of time in its largest unit. */
export function lasting(seconds) {
  const [unit, size] = UNITS.find(([, one]) => seconds >= one) ?? UNITS[3];
  return new Intl.NumberFormat(locale(), {
    style: "unit", unit, unitDisplay: "long", maximumFractionDigits: 0,
  }).format(Math.floor(seconds / size));
}

export const secondsBetween = (from, to) => (Date.parse(to) - Date.parse(from)) / 1000;

export function bytes(count) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const step = count > 0 ? Math.min(3, Math.floor(Math.log10(count) / 3)) : 0;
  return new Intl.NumberFormat(locale(), {
    style: "unit", unit: units[step], unitDisplay: "short", maximumFractionDigits: 1,
  }).format(count / 1000 ** step);
}

export function seconds(count) {
  return new Intl.NumberFormat(locale(), {
    style: "unit", unit: "second", unitDisplay: "short", maximumFractionDigits: 1,
  }).format(count);
}

/** A text that fits one line. */
export function clipped(text, most = 160) {
  const letters = [...text.slice(0, most * 2)];
  return letters.length > most || text.length > most * 2
    ? letters.slice(0, most).join("") + t("ellipsis") : text;
}
