/* The language of the page, and its texts. */
import en from "./strings/en.js";
import zh from "./strings/zh.js";
import { keep, kept } from "./storage.js";

const TABLES = { en, zh };
export const LANGUAGES = { en: "English", zh: "中文" };

function wanted() {
  const chosen = kept("language");
  if (chosen in TABLES) return chosen;
  for (const one of navigator.languages ?? []) {
    const name = one.slice(0, 2).toLowerCase();
    if (name in TABLES) return name;
  }
  return "en";
}

export let language = wanted();
export const locale = () => (language === "zh" ? "zh-CN" : navigator.languages
  ?.find((one) => one.toLowerCase().startsWith("en")) ?? "en-GB");

export function setLanguage(name) {
  language = name;
  keep("language", name);
}

/** The text of a key; `{n}` and its like are filled in, and `n` chooses the plural. */
export function t(key, values = {}) {
  const found = TABLES[language][key];
  if (found === undefined) {
    console.error(`no text for ${key}`);
    return key;
  }
  const text = typeof found === "string" ? found : plural(found, values.n);
  return text.replace(/\{(\w+)\}/g, (whole, name) => (
    typeof values[name] === "number" ? number(values[name]) : values[name] ?? whole));
}

/** The text of a word that the service uses; the word itself if it is new. */
export function word(group, name) {
  return TABLES[language][`${group}.${name}`] ?? name;
}

function plural(forms, n) {
  return forms[new Intl.PluralRules(locale()).select(n)] ?? forms.other;
}

export function number(value, digits = 0, least = 0) {
  return new Intl.NumberFormat(locale(), {
    maximumFractionDigits: digits, minimumFractionDigits: least,
  }).format(value);
}
