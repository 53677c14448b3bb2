// A chart whose code is loaded when the first one is shown, so that the page around it is there before.
import type { ComponentProps } from "preact";
import type { Chart as Loaded } from "./Chart.tsx";
import { Late } from "./Late.tsx";

const load = () => import("./Chart.tsx").then(({ Chart }) => ({ default: Chart }));

export function Chart(props: ComponentProps<typeof Loaded>) {
  return <Late id="chart" load={load} props={props} lost="This chart did not load. Reload the page when the server can be reached." />;
}
