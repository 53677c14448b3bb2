// A component whose code is loaded when it is first shown.
import type { Attributes, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Note } from "./Basics.tsx";
import { Loading } from "./States.tsx";

const loaded = new Map<string, unknown>();

interface LateProps<P> {
  /** The name that no other part has; it stays the same for one place. */
  id: string;
  load: () => Promise<{ default: ComponentType<P> }>;
  /** The properties that it is shown with. */
  props: P & Attributes;
  /** The message where it did not load. */
  lost: string;
}

export function Late<P>({ id, load, props, lost }: LateProps<P>) {
  const [Loaded, setLoaded] = useState(() => loaded.get(id) as ComponentType<P> | undefined);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (Loaded) return;
    load().then(
      (module) => {
        loaded.set(id, module.default);
        setLoaded(() => module.default);
      },
      () => setFailed(true),
    );
  }, [id, load, Loaded]);
  if (failed) return <Note kind="bad">{lost}</Note>;
  return Loaded ? <Loaded {...props} /> : <Loading />;
}
