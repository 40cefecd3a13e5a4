/* Who is at the page: a key, the one-time token of `episodica ui`, or anybody on this machine. */
import { call, get } from "./api.js";
import { setCredential } from "./storage.js";

export let me = null;

export const can = (scope) => me !== null && me.scopes.includes(scope);
export const seesAll = () => me !== null && me.user === "*";

/** Takes the token out of the address, so that no history and no screenshot has it. */
function takeToken() {
  const found = /^#token=([\w-]+)$/.exec(location.hash);
  if (!found) return null;
  history.replaceState(null, "", location.pathname);
  return found[1];
}

/** Finds out who is here; raises the service's problem if it wants a key. */
export async function begin() {
  const token = takeToken();
  if (token) setCredential((await call("POST", "ui/session", { body: { token } })).credential);
  me = await get("v1/key");
}

export async function enter(key) {
  setCredential(key);
  try {
    me = await get("v1/key");
  } catch (problem) {
    setCredential(null);
    throw problem;
  }
}

export function leave() {
  setCredential(null);
  me = null;
}
