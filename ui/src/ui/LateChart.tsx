// A chart whose code is loaded when the first one is shown, so that the page around it is there before.
import type { ComponentProps, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Note } from "./Basics.tsx";
import type { Chart as Loaded } from "./Chart.tsx";
import { Loading } from "./States.tsx";

type Props = ComponentProps<typeof Loaded>;

let loaded: ComponentType<Props> | undefined;

export function Chart(props: Props) {
  const [Shown, setShown] = useState<ComponentType<Props> | undefined>(() => loaded);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (Shown) return;
    import("./Chart.tsx").then(
      (module) => {
        loaded = module.Chart;
        setShown(() => module.Chart);
      },
      () => setFailed(true),
    );
  }, [Shown]);
  if (failed) return <Note kind="bad">This chart did not load. Reload the page when the server can be reached.</Note>;
  return Shown ? <Shown {...props} /> : <Loading />;
}
