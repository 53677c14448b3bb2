// A request of a page as texts that do the same elsewhere: GraphQL, curl, and a command.
import { queryText } from "./client.ts";

/** A request in all of its forms. */
export interface Action {
  document: object;
  variables: object;
  /** How REST does it, where it does. */
  rest?: Rest;
  /** The words of the command after `fairshared`, where there is one. */
  command?: Word[];
  /** The standard input of the command. */
  input?: unknown;
}

export interface Rest {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The parts of the path; they are escaped here. */
  path: string[];
  query?: Record<string, Value>;
  body?: unknown;
}

export type Value = string | number | boolean | null | undefined | typeof EMPTY;
/** An empty text that is sent; "" is left out. */
export const EMPTY = { toString: () => "" } as const;
/** A word, or a flag with its value, which is left out where there is none. */
export type Word = string | [flag: string, value: Value];

export interface Copies {
  graphql: string;
  curl: string;
  cli?: string;
}

/** `origin` is where the server is found, without a slash at its end. */
export function copies(action: Action, origin: string): Copies {
  const graphql = graphqlOf(action);
  const curl = curlOf(action.rest ?? { method: "POST", path: ["graphql"], body: { query: queryText(action.document), variables: action.variables } }, origin);
  return action.command ? { graphql, curl, cli: cliOf(action.command, action.input, origin) } : { graphql, curl };
}

/** The document, with its variables as a comment. */
function graphqlOf({ document, variables }: Action): string {
  const text = queryText(document);
  return Object.keys(variables).length === 0 ? text : `${text}\n\n# Variables:\n# ${JSON.stringify(variables)}`;
}

function curlOf({ method = "GET", path, query = {}, body }: Rest, origin: string): string {
  const given = Object.entries(query).flatMap(([name, value]): [string, string][] => (isGiven(value) ? [[name, String(value)]] : []));
  const search = given.length > 0 ? `?${new URLSearchParams(given).toString()}` : "";
  const words = ["curl -s", ...(method === "GET" ? [] : [`-X ${method}`]), '-H "Authorization: Bearer $FAIRSHARED_KEY"'];
  if (body !== undefined) words.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`);
  return [...words, quoted(`${origin}/${path.map(encodeURIComponent).join("/")}${search}`)].join(" ");
}

function cliOf(command: Word[], input: unknown, origin: string): string {
  const words = command.flatMap((word) => {
    if (typeof word === "string") return [word];
    const [flag, value] = word;
    if (value === true) return [flag];
    // With `=`, a value that begins with a dash is no flag.
    return isGiven(value) ? [`${flag}=${String(value)}`] : [];
  });
  const line = `FAIRSHARED_SERVER=${quoted(origin)} fairshared ${words.map(quoted).join(" ")}`;
  return input === undefined ? line : `${line} <<'JSON'\n${JSON.stringify(input, null, 2)}\nJSON`;
}

const isGiven = (value: Value): boolean => value !== null && value !== undefined && value !== "" && value !== false;

/** As a shell takes it for one word, whatever it holds. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
