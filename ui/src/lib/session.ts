// The person who is signed in. The key itself is never kept by the page.
import { signal } from "@preact/signals";
import { graphql, type ResultOf } from "../gql.ts";
import { ApiError, closeSession, onTrouble, openSession, request } from "./client.ts";
import { facts, loadMetadata } from "./metadata.ts";
import { many } from "./numbers.ts";

const WHO = graphql(`
  query Who {
    whoami { key_id label role user_uuid user_name resource_groups expires_at }
    resource_groups { name }
  }
`);

export type Me = ResultOf<typeof WHO>["whoami"];

/** `undefined`: not known yet; `null`: the browser is not signed in. */
export const me = signal<Me | null | undefined>(undefined);
export const groups = signal<string[]>([]);
/** Why the browser is not signed in any more, in words. */
export const signedOutBecause = signal("");
export const unreachable = signal(false);

/** Where this browser notes that a person is signed in. The session itself is in a cookie that the page cannot read, and to ask
 * without one is an error that browsers write into their console. */
const NOTE = "fairshared.signed_in";

function forgetPerson(): void {
  localStorage.removeItem(NOTE);
  me.value = null;
}

export const isAdmin = (): boolean => me.value?.role === "admin";
export const isUser = (): boolean => me.value?.role === "user";

onTrouble((error) => {
  if (error.code === "unreachable") {
    unreachable.value = true;
    return;
  }
  if (me.value) signedOutBecause.value = sentence(error);
  forgetPerson();
});

function sentence(error: ApiError): string {
  switch (error.code) {
    case "expired_session":
      return `You were signed in for ${many(facts().session_seconds / 3600, "hour")}. Sign in again to go on where you were.`;
    case "revoked_key":
      return "The key that you signed in with was revoked.";
    case "expired_key":
      return "The key that you signed in with has expired.";
    default:
      return "You are not signed in any more.";
  }
}

/** Finds out who is signed in; with a key, signs in first. */
export async function begin(key: string | null): Promise<void> {
  if (!key && localStorage.getItem(NOTE) === null) {
    me.value = null;
    return;
  }
  try {
    if (key) await openSession(key);
    await load();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (key) signedOutBecause.value = error.message;
    me.value = null;
  }
}

async function load(): Promise<void> {
  const [answer] = await Promise.all([request(WHO, {}), loadMetadata()]);
  groups.value = answer.resource_groups.map((group) => group.name);
  signedOutBecause.value = "";
  localStorage.setItem(NOTE, "yes");
  me.value = answer.whoami;
}

/** The names of the groups that are there now. */
export async function groupNames(): Promise<string[]> {
  return (await request(WHO, {})).resource_groups.map((group) => group.name);
}

export async function signIn(key: string): Promise<void> {
  await openSession(key);
  await load();
}

export async function signOut(): Promise<void> {
  try {
    await closeSession();
  } catch (error) {
    // The session goes on, and the page says already that the server cannot be reached.
    if (error instanceof ApiError) return;
    throw error;
  }
  signedOutBecause.value = "You are signed out.";
  forgetPerson();
}
