/* Requests to the service. The credential goes into a header, never into an address. */
import { credential } from "./storage.js";

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? "");
    this.status = status;
    this.kind = body.kind ?? "http";
    this.title = body.title ?? "";
    this.detail = body.detail ?? "";
    this.hint = body.hint ?? "";
  }
}

/** A user or a record in a path. Browsers read `.` and `..` as a way up, however they are written. */
export function part(id) {
  if (id === "." || id === "..") {
    throw new Problem(0, { kind: "unreachable", detail: id });
  }
  return encodeURIComponent(id);
}

export const userPath = (user, ...parts) => ["v1/users", part(user), ...parts].join("/");

/** The JSON of an answer. */
export async function call(method, path, { body, signal } = {}) {
  const headers = { Accept: "application/json" };
  const held = credential();
  if (held) headers.Authorization = `Bearer ${held}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(new URL(`../${path}`, location.href.split("#")[0]), {
      method,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { kind: "unreachable_service" });
  }
  if (answer.ok) return answer.json();
  const problem = new Problem(answer.status, await answer.json().catch(() => ({})));
  // The key was revoked, or the service was started again.
  if (problem.status === 401) dispatchEvent(new CustomEvent("episodica:out", { detail: problem }));
  throw problem;
}

export const get = (path, signal) => call("GET", path, { signal });

/** `path?name=value`, without what is empty. */
export function asking(path, options) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && value !== null && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}
