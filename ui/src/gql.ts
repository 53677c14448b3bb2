// GraphQL documents with types from `schema.graphql`: a misspelt field does not compile.
import { initGraphQLTada } from "gql.tada";
import type { introspection } from "./graphql-env.d.ts";

export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { Date: string; DateTime: string; Decimal: string; JSONString: string; UUID: string };
}>();

export type { ResultOf, TadaDocumentNode, VariablesOf } from "gql.tada";
