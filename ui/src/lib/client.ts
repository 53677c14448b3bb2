// The one way to the server: GraphQL, and the requests that sign in and out.
import { print } from "@0no-co/graphql.web";
import type { TadaDocumentNode } from "gql.tada";

export interface Fault {
  pointer: string;
  code: string;
  detail: string;
}

/** Something that a write has made and that looks like a mistake: of options and weights it is about a place in the request, of queues about a queue and a slot. */
export interface WriteWarning {
  code: string;
  detail: string;
  pointer?: string | null;
  /** The number of places that it is about; none: one. */
  count?: number | null;
  queue?: string | null;
  slot?: string | null;
}

/** A refusal of the server, or that it could not be reached. */
export class ApiError extends Error {
  constructor(
    readonly code: string,
    detail: string,
    readonly faults: Fault[] = [],
    readonly extra: Record<string, unknown> = {},
  ) {
    super(detail);
  }

  get isSignedOut(): boolean {
    return ["missing_key", "unknown_key", "unknown_session", "expired_session", "revoked_key", "expired_key"].includes(this.code);
  }

  get isForbidden(): boolean {
    return this.code === "forbidden";
  }
}

const listeners = new Set<(error: ApiError) => void>();

/** Calls the listener for every refusal that means that the browser is not signed in, and for every lost connection. */
export function onTrouble(listener: (error: ApiError) => void): void {
  listeners.add(listener);
}

let base = "";

/** The folder that the pages are served from, like `/ui/` or `/fair/ui/`. */
export function basePath(): string {
  base ||= new URL(document.baseURI).pathname;
  return base;
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const url = new URL(path, new URL(basePath(), location.origin));
  try {
    const init: RequestInit = { method, headers: { "Content-Type": "application/json", "X-Fairshared-CSRF": "1" } };
    if (body !== undefined) init.body = JSON.stringify(body);
    if (signal) init.signal = signal;
    return await fetch(url, init);
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw announce(new ApiError("unreachable", "The server cannot be reached. What you see may be old."));
  }
}

function announce(error: ApiError): ApiError {
  if (error.isSignedOut || error.code === "unreachable") for (const listener of listeners) listener(error);
  return error;
}

async function refusal(response: Response): Promise<ApiError> {
  const problem = await response.json().catch(() => null);
  if (!problem?.code) return new ApiError("unreachable", `The server answered ${response.status}.`);
  return new ApiError(problem.code, problem.detail, problem.errors ?? [], problem);
}

export async function openSession(key: string): Promise<void> {
  const response = await send("POST", "session", { key });
  if (!response.ok) throw await refusal(response);
}

export async function closeSession(): Promise<void> {
  await send("DELETE", "session");
}

interface GraphQLError {
  message: string;
  extensions?: { code?: string; errors?: Fault[] } & Record<string, unknown>;
}

interface GraphQLAnswer<R> {
  data: R;
  errors?: GraphQLError[];
  extensions?: { warnings?: WriteWarning[] };
}

async function answerTo<R, V>(doc: TadaDocumentNode<R, V>, variables: V, signal?: AbortSignal): Promise<GraphQLAnswer<R>> {
  const response = await send("POST", "../graphql", { query: queryText(doc), variables }, signal);
  if (!response.ok) throw announce(await refusal(response));
  const answer: GraphQLAnswer<R> = await response.json();
  const first = answer.errors?.[0];
  if (first) throw announce(new ApiError(first.extensions?.code ?? "failed", first.message, first.extensions?.errors ?? [], first.extensions ?? {}));
  return answer;
}

/** Asks the server. Whatever it refuses is thrown as an ApiError. */
export async function request<R, V>(doc: TadaDocumentNode<R, V>, variables: V, signal?: AbortSignal): Promise<R> {
  return (await answerTo(doc, variables, signal)).data;
}

/** Makes a write whose result has no field for warnings: they are in the extensions of the response. */
export async function requestWithWarnings<R, V>(doc: TadaDocumentNode<R, V>, variables: V): Promise<{ data: R; warnings: WriteWarning[] }> {
  const { data, extensions } = await answerTo(doc, variables);
  return { data, warnings: extensions?.warnings ?? [] };
}

const texts = new WeakMap<object, string>();

export function queryText(doc: object): string {
  let text = texts.get(doc);
  if (text === undefined) texts.set(doc, (text = print(doc as Parameters<typeof print>[0])));
  return text;
}
