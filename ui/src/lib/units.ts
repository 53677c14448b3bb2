// Slots by the names and in the units of their readers: bytes as GiB, slot-seconds as hours.
import { num, significant, type Slots } from "./numbers.ts";

const GIB = 2 ** 30;
const isBytes = (slot: string): boolean => slot === "mem" || slot.endsWith(".mem") || slot.endsWith("_bytes");

/** The names of kinds of devices; other kinds are named as their slot. */
const MAKERS: Record<string, string> = { cuda: "CUDA", rocm: "ROCm" };

/** `cuda.device` is of the kind CUDA and a GPU; `null`: that is no slot of devices. */
function device(slot: string): { kind: string; what: string } | null {
  if (slot === "gpu") return { kind: "", what: "GPU" };
  const [, maker, part] = /^(.+)\.(device|shares)$/.exec(slot) ?? [];
  if (!maker) return null;
  const what = maker in MAKERS ? "GPU" : "device";
  return { kind: MAKERS[maker] ?? maker.toUpperCase(), what: part === "shares" ? `${what} share` : what };
}

/** `CUDA GPUs`, `CPU`, `Memory` */
export function slotName(slot: string): string {
  if (slot === "cpu") return "CPU";
  if (slot === "mem") return "Memory";
  const { kind, what } = device(slot) ?? {};
  return what ? `${kind} ${what}s`.trim() : slot;
}

/** The size of one unit of what is shown of a slot. */
export function scale(slot: string): number {
  return isBytes(slot) ? GIB : 1;
}

export function unit(slot: string): string {
  if (isBytes(slot)) return "GiB";
  return slot === "cpu" ? "cores" : `${device(slot)?.what ?? "unit"}s`;
}

/** `CUDA GPUs`, `Memory, GiB`: for the label of a field. */
export function slotLabel(slot: string): string {
  return device(slot) ? slotName(slot) : `${slotName(slot)}, ${unit(slot)}`;
}

/** `64 cores`, `1 GPU` */
export function amount(slot: string, value: string | number): string {
  const shown = significant(num(value) / scale(slot));
  return `${shown} ${shown === "1" ? unit(slot).replace(/s$/, "") : unit(slot)}`;
}

/** `8 CUDA GPUs`, `64 CPU cores`, `512 GiB of memory`: for where nothing else says which slot it is. */
export function amountOf(slot: string, value: string | number): string {
  const shown = significant(num(value) / scale(slot));
  if (isBytes(slot)) return `${shown} GiB of ${slot === "mem" ? "memory" : slot}`;
  const named = slot === "cpu" ? "CPU cores" : device(slot) ? slotName(slot) : `${slot}`;
  return `${shown} ${shown === "1" ? named.replace(/s$/, "") : named}`;
}

/** Slot-seconds as hours: `1 234 core-hours`. */
export function hours(slot: string, slotSeconds: string | number): number {
  return num(slotSeconds) / scale(slot) / 3600;
}

export function hoursUnit(slot: string): string {
  return `${isBytes(slot) ? "GiB" : unit(slot).replace(/s$/, "").replace(" ", "-")}-hours`;
}

/** `GPU-hours (CUDA)`, `core-hours (CPU)`: for where nothing else says which slot it is. */
export function hoursOf(slot: string): string {
  const kind = device(slot)?.kind ?? (slot === "cpu" ? "CPU" : slot === "mem" ? "memory" : slot);
  return kind ? `${hoursUnit(slot)} (${kind})` : hoursUnit(slot);
}

/** Slots in the order in which people look for them: accelerators, processors, memory. */
export function ordered(slots: Iterable<string>): string[] {
  const place = (slot: string): number => (slot === "cpu" ? 1 : isBytes(slot) ? 2 : 0);
  return [...new Set(slots)].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

export function describe(all: Slots): string {
  const shown = ordered(Object.keys(all)).map((slot) => amountOf(slot, all[slot] ?? "0"));
  return shown.join(", ") || "nothing";
}
