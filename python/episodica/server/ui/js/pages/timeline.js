/* The episodes of a user over time, with where each ended and why. */
import { asking, get, userPath } from "../api.js";
import { el } from "../dom.js";
import { t, word } from "../i18n.js";
import { lasting, month, secondsBetween, span } from "../format.js";
import { chip, empty, field, figures, growing, head, select } from "../parts.js";
import { link } from "../router.js";

const PAGE = 25;

export async function timeline({ user, signal }) {
  const counts = await get(userPath(user, "stats"), signal);
  const top = head({ title: t("timeline"), lead: t("timeline.lead") });
  if (counts.messages === 0 && counts.episodes === 0) {
    return el("div", top, empty(t("user.none"), t("user.none.help", { user })));
  }
  const place = el("div");
  const since = el("input", { type: "date" }), until = el("input", { type: "date" });
  const order = select("order", [["newest", t("order.newest")], ["oldest", t("order.oldest")]],
    "newest");
  const draw = async () => {
    const list = episodes(user, {
      since: since.value, until: until.value, newest_first: order.value === "newest",
    }, signal);
    await list.ready;
    place.replaceChildren(list.element);
  };
  for (const one of [since, until, order]) one.addEventListener("change", draw);
  await draw();
  return el("div", top,
    figures([
      [t("count.episodes"), counts.episodes],
      [t("count.facts"), counts.facts + counts.superseded],
      [t("count.ended"), counts.superseded],
      [t("count.messages"), counts.messages],
      [t("count.buffered"), counts.buffered],
    ]),
    el("div", { class: "section" },
      el("form", { class: "fields", onsubmit: (event) => event.preventDefault() },
        field(t("since"), since), field(t("until"), until), field(t("order"), order)),
      place));
}

/** The growing list; the newer neighbour of an episode says how long the pause after it was. */
function episodes(user, options, signal) {
  return growing({
    kind: "episodes",
    label: t("timeline"),
    load: (cursor) => get(asking(userPath(user, "episodes"),
      { ...options, layer: "L0", limit: PAGE, cursor }), signal),
    draw: (one, before) => el("li",
      (!before || month(before.timestamp) !== month(one.timestamp))
        && el("h2", { class: "month" }, month(one.timestamp)),
      options.newest_first ? [end(one, before), card(user, one)]
        : [card(user, one), end(one, null)]),
    none: () => empty(t("episodes.none"), t("episodes.none.help")),
  });
}

export function reasonOf(episode) {
  return word("reason", episode.boundary_reason);
}

function end(episode, newer) {
  const pause = newer && episode.ended_at
    ? secondsBetween(episode.ended_at, newer.timestamp) : 0;
  const sure = episode.boundary?.confidence;
  return el("p", { class: "ended" },
    el("span", t("ended"), " "), el("strong", { dir: "auto" }, reasonOf(episode)),
    sure !== undefined && sure < 1 && t("ended.sure", { percent: Math.round(sure * 100) }),
    pause > 0 && t("ended.pause", { pause: lasting(pause) }));
}

function card(user, one) {
  return el("article", { class: "card" },
    el("div", { class: "meta" }, span(one.timestamp, one.ended_at),
      el("span", t("messages.n", { n: one.message_count }))),
    el("h3", { dir: "auto" },
      el("a", { href: link("user", user, "episode", one.id) }, one.title || t("untitled"))),
    one.summary && el("p", { dir: "auto", class: "said" }, one.summary),
    one.topics.length > 0 && el("div", { class: "chips" },
      one.topics.slice(0, 6).map((topic) => chip(topic))));
}
