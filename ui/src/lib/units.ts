// Slots in the units of their readers: bytes as GiB, slot-seconds as hours.
import { num, significant, type Slots } from "./numbers.ts";

const GIB = 2 ** 30;
const isBytes = (slot: string): boolean => slot === "mem" || slot.endsWith(".mem") || slot.endsWith("_bytes");

export function slotName(slot: string): string {
  if (slot === "cpu") return "CPU";
  if (slot === "mem") return "Memory";
  return slot.replace(/\.(device|shares)$/, (_, kind) => (kind === "device" ? "" : " shares")).toUpperCase();
}

/** The size of one unit of what is shown of a slot. */
export function scale(slot: string): number {
  return isBytes(slot) ? GIB : 1;
}

export function unit(slot: string): string {
  return isBytes(slot) ? "GiB" : slot === "cpu" ? "cores" : "devices";
}

/** `64 cores` */
export function amount(slot: string, value: string | number): string {
  return `${significant(num(value) / scale(slot))} ${unit(slot)}`;
}

/** Slot-seconds as hours: `1 234 core-hours`. */
export function hours(slot: string, slotSeconds: string | number): number {
  return num(slotSeconds) / scale(slot) / 3600;
}

export function hoursUnit(slot: string): string {
  return isBytes(slot) ? "GiB-hours" : slot === "cpu" ? "core-hours" : `${slotName(slot)}-hours`;
}

/** Slots in the order in which people look for them: accelerators, processors, memory. */
export function ordered(slots: Iterable<string>): string[] {
  const place = (slot: string): number => (slot === "cpu" ? 1 : isBytes(slot) ? 2 : 0);
  return [...new Set(slots)].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

/** A sentence of the server about amounts of a slot: bytes as GiB. */
export function inUnits(sentence: string, slot: string | null | undefined): string {
  if (!slot || !isBytes(slot)) return sentence;
  return sentence.replace(/(?<![\w.])\d+(\.\d+)?(?![\w.])/g, (bytes) => `${significant(num(bytes) / GIB)} GiB`);
}

export function describe(all: Slots): string {
  const shown = ordered(Object.keys(all)).map((slot) => `${slotName(slot)} ${significant(num(all[slot]) / scale(slot))}${isBytes(slot) ? " GiB" : ""}`);
  return shown.join(", ") || "nothing";
}
