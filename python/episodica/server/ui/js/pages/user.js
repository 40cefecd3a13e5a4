/* One user: what all of their pages have in common, and which page it is. */
import { Problem } from "../api.js";
import { el } from "../dom.js";
import { t } from "../i18n.js";
import { link } from "../router.js";
import { seesAll } from "../session.js";
import { ask } from "./ask.js";
import { episode } from "./episode.js";
import { fact } from "./fact.js";
import { facts } from "./facts.js";
import { later } from "./later.js";
import { learning } from "./learning.js";
import { manage } from "./manage.js";
import { messages } from "./messages.js";
import { profile } from "./profile.js";
import { timeline } from "./timeline.js";

const PAGES = { timeline, profile, facts, later, ask, messages, learning, manage };
const RECORDS = { episode, fact };
// The tab that a record belongs to.
const HOMES = { episode: "timeline", fact: "facts" };

export async function userPage([user, name = "timeline", id], signal) {
  const draw = id === undefined ? PAGES[name] : RECORDS[name];
  if (!draw) throw new Problem(404, { detail: t("no.page") });
  const here = HOMES[name] ?? name;
  const above = [
    seesAll() && [el("a", { href: "#/" }, t("users")), el("span", { "aria-hidden": "true" }, "/")],
    el("strong", { dir: "auto" }, user),
    id !== undefined && [el("span", { "aria-hidden": "true" }, "/"),
      el("a", { href: link("user", user, here) }, t(here))],
  ];
  const drawn = await draw({ user, id, signal });
  return el("div",
    el("nav", { class: "above", "aria-label": t("nav.path") }, above),
    el("nav", { class: "tabs", "aria-label": t("nav.user") },
      Object.keys(PAGES).map((one) => el("a", {
        href: one === "timeline" ? link("user", user) : link("user", user, one),
        "aria-current": one === here && "page",
      }, t(one)))),
    drawn);
}
