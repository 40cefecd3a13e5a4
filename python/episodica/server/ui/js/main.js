/* Starts the page, draws the frame, and shows the page of the present address. */
import { Problem } from "./api.js";
import { el, replace } from "./dom.js";
import { LANGUAGES, language, setLanguage, t } from "./i18n.js";
import { begin, can, leave, me, seesAll } from "./session.js";
import { credential, keep } from "./storage.js";
import { failure } from "./parts.js";
import { go, link, place } from "./router.js";
import { door } from "./pages/door.js";
import { health } from "./pages/health.js";
import { usage } from "./pages/usage.js";
import { users } from "./pages/users.js";
import { userPage } from "./pages/user.js";

const main = document.getElementById("main");
let shown = new AbortController();
// Why nobody is in, if so.
let refusal = null;
// Made once, so that its picture is fetched once.
const brand = el("a", { class: "brand", href: "#/" },
  el("img", { src: "icon.svg", alt: "", width: "24", height: "24" }), "episodica");

function frame() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  const skip = document.getElementById("skip");
  replace(skip, t("skip"));
  skip.onclick = (event) => {
    event.preventDefault();
    (main.querySelector("h1") ?? main).focus();
  };
  const here = (place() ?? [])[0] ?? "users";
  const places = [];
  if (can("admin")) {
    places.push(["users", t("users")], ["usage", t("usage")], ["health", t("health")]);
  }
  replace(document.getElementById("top"), el("div", { class: "bar-top" },
    brand,
    places.length > 0 && el("nav", { class: "places", "aria-label": t("nav.places") },
      places.map(([name, label]) => el("a", {
        href: link(name),
        "aria-current": (here === name || (name === "users" && here === "user")) && "page",
      }, label))),
    el("div", { class: "switches" },
      el("button", { type: "button", class: "button quiet", onclick: nextTheme }, themeLabel()),
      el("button", {
        type: "button", class: "button quiet", lang: language === "zh" ? "en" : "zh-CN",
        onclick() {
          setLanguage(language === "zh" ? "en" : "zh");
          show();
        },
      }, language === "zh" ? LANGUAGES.en : LANGUAGES.zh),
      credential() && me && el("button", {
        type: "button", class: "button quiet", onclick() {
          leave();
          history.replaceState(null, "", location.pathname);
          start();
        },
      }, t("leave")))));
}

const isDark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};
const themeLabel = () => (isDark() ? t("theme.light") : t("theme.dark"));

function nextTheme(event) {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  keep("theme", next);
  replace(event.currentTarget, themeLabel());
}

function page(parts, signal) {
  if (!me) return door(refusal, () => go("#/"));
  const [name, ...rest] = parts ?? ["?"];
  if (name === "user" && rest.length > 0) return userPage(rest, signal);
  if (!seesAll() && name === undefined) return userPage([me.user], signal);
  if (name === undefined || name === "users") return users(signal);
  if (name === "usage") return usage(signal);
  if (name === "health") return health(signal);
  throw new Problem(404, { detail: t("no.page") });
}

async function show() {
  shown.abort();
  // What it asked about is no longer what is seen.
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  shown = new AbortController();
  const { signal } = shown;
  frame();
  const slow = setTimeout(() => {
    if (!signal.aborted) replace(main, el("div", { class: "working" }, t("loading")));
  }, 250);
  main.setAttribute("aria-busy", "true");
  let drawn;
  try {
    drawn = await page(place(), signal);
  } catch (problem) {
    if (signal.aborted || problem.name === "AbortError") return;
    drawn = el("div", el("h1", { class: "unseen", tabindex: "-1" }, t("problem.page")),
      failure(problem, problem.status !== 404 && show));
  } finally {
    clearTimeout(slow);
  }
  if (signal.aborted) return;
  replace(main, drawn);
  main.removeAttribute("aria-busy");
  const title = main.querySelector("h1");
  document.title = title ? `${title.textContent} · episodica` : "episodica";
  main.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "nearest" });
  scrollTo(0, 0);
  title?.focus({ preventScroll: true });
}

addEventListener("hashchange", show);
addEventListener("episodica:again", show);
addEventListener("episodica:out", (event) => {
  // While somebody tries to get in, the door says what is wrong.
  if (!me) return;
  leave();
  refusal = event.detail;
  show();
});

async function start() {
  refusal = null;
  try {
    await begin();
  } catch (problem) {
    refusal = problem;
    // Nobody has tried a key yet.
    refusal.expected = problem.kind === "unauthorized" && !credential();
    if (problem.status === 401) leave();
  }
  await show();
}

await start();
