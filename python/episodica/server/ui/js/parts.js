/* Parts that pages share. */
import { announce, el, replace, svg } from "./dom.js";
import { number, t, word } from "./i18n.js";

// Letters of a text that are shown at first.
const MOST = 6_000;
// Problems that the page itself has words for.
const KNOWN = ["one_time_address", "unreachable", "unreachable_service"];

export function button(label, onclick, kind = "", more = {}) {
  return el("button", { type: "button", class: `button ${kind}`.trim(), onclick, ...more }, label);
}

/** The head of a page: its title, a line about it, what can be done. */
export function head({ title, lead, actions }) {
  return el("div", { class: "head" },
    el("div",
      el("h1", { tabindex: "-1", dir: "auto" }, title),
      lead && el("p", lead)),
    actions && actions.length > 0 && el("div", { class: "actions" }, actions));
}

export function section(title, ...children) {
  return el("section", { class: "section" }, el("h2", title), children);
}

export function chip(text, kind = "", title = undefined) {
  return el("span", { class: `chip ${kind}`.trim(), title }, text);
}

export function empty(title, ...text) {
  return el("div", { class: "empty" }, el("h2", title), text.map((one) => (
    one instanceof Node ? one : el("p", one))));
}

/** What went wrong, in words, with what helps. */
export function failure(problem, again) {
  const known = KNOWN.includes(problem.kind);
  const title = known ? t(`problem.${problem.kind}`)
    : problem.status ? word("status", String(problem.status)) : t("problem.page");
  const detail = known ? t(`problem.${problem.kind}.detail`) : problem.detail || problem.message;
  return el("div", { class: "notice bad", role: "alert" },
    el("strong", title),
    detail && el("p", { class: "said" }, detail),
    problem.hint && !known && el("p", { class: "said small" }, t("problem.hint", { hint: problem.hint })),
    again && button(t("again"), again));
}

/** A text with its lines; the rest of a long one at a click. */
export function said(text, kind = "") {
  const long = text.length > MOST;
  const shown = el("p", { class: `said ${kind}`.trim(), dir: "auto" },
    long ? text.slice(0, MOST) : text);
  if (!long) return shown;
  const rest = button(t("said.all", { n: text.length }), () => {
    replace(shown, text);
    rest.remove();
  }, "quiet");
  return el("div", shown, rest);
}

/** Numbers with names: a row of cards. */
export function figures(pairs) {
  return el("dl", { class: "row-of-cards" }, pairs.map(([name, value]) => (
    el("div", { class: "card figure" }, el("dt", name),
      el("dd", typeof value === "number" ? number(value) : value)))));
}

export function pairs(list) {
  return el("dl", { class: "pairs" }, list.filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => [el("dt", name), el("dd", value)]));
}

/** A bar from zero to `value` on an axis from `low` to `high`. */
export function bar(value, low, high) {
  const from = Math.min(low, 0), to = Math.max(high, 0), width = to - from;
  const drawn = svg("svg", {
    class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true",
  });
  if (width > 0) {
    const start = (100 * (Math.min(value, 0) - from)) / width;
    drawn.append(svg("rect", {
      class: value < 0 ? "minus" : "plus", x: start.toFixed(2), y: 0, height: 6,
      width: ((100 * Math.abs(value)) / width).toFixed(2),
    }));
  }
  return drawn;
}

/** A table in a box that scrolls; the first cell of a row names it. `kinds`: t text, n number. */
export function table(caption, names, kinds, rows) {
  const kind = (index) => ({ n: "number", b: "bar-cell" })[kinds[index]];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table",
      el("caption", { class: "unseen" }, caption),
      el("thead", el("tr", names.map((name, index) => (
        el("th", { scope: "col", class: kind(index) },
          name || el("span", { class: "unseen" }, t("bar"))))))),
      el("tbody", rows.map((cells) => el("tr", cells.map((cell, index) => (index === 0
        ? el("th", { scope: "row" }, cell) : el("td", { class: kind(index) }, cell))))))));
}

/** A field with its label. */
export function field(label, control, kind = "") {
  const id = control.id || (control.id = `field-${Math.random().toString(36).slice(2)}`);
  return el("div", { class: `field ${kind}`.trim() }, el("label", { for: id }, label), control);
}

export function select(name, options, value, onchange) {
  return el("select", { name, onchange }, options.map(([key, label]) => (
    el("option", { value: key, selected: key === value }, label))));
}

/**
 * A list that grows by pages. `load(cursor)` returns `{items, next_cursor}`; `draw` an element of
 * a record, given the one before it.
 */
export function growing({ load, draw, kind, none, label, before = [] }) {
  const list = el("ol", { class: kind, "aria-label": label });
  const foot = el("div", { class: "more" });
  const whole = el("div", list, foot);
  let cursor = null, count = 0, last = before.at(-1) ?? null, isEmpty = true;

  async function grow() {
    const isFirst = cursor === null && count === 0;
    replace(foot, el("div", { class: "working" }, t("loading")));
    try {
      const page = await load(cursor);
      const drawn = page.items.map((one) => {
        const element = draw(one, last);
        last = one;
        return element;
      });
      list.append(...drawn.flat());
      isEmpty = isEmpty && page.items.length === 0;
      count += page.items.length;
      cursor = page.next_cursor;
      replace(foot);
      if (isEmpty && !cursor) replace(whole, none());
      else if (cursor) {
        replace(foot, button(t("more"), grow), el("span", { class: "faint small" },
          t("shown", { n: count })));
      } else if (count > 10) {
        replace(foot, el("span", { class: "faint small" }, t("shown.all", { n: count })));
      }
      if (!isFirst && drawn.length > 0) {
        announce(t("loaded", { n: page.items.length }));
        focusFirst([drawn].flat(2)[0]);
      }
    } catch (problem) {
      if (problem.name !== "AbortError") replace(foot, failure(problem, grow));
    }
  }
  return { element: whole, ready: grow() };
}

function focusFirst(element) {
  const target = element?.querySelector?.("a, button, summary") ?? element;
  target?.focus({ preventScroll: true });
}
