// The value of a full bar where several bars have one scale.

const ROUND = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.8, 1];

/** The next round part of a whole that is as large as the largest of these, so that no bar is cut and the scale is easily read. */
export function fullBar(parts: number[]): number {
  const largest = Math.max(0, ...parts);
  return ROUND.find((round) => round >= largest) ?? Math.ceil(largest);
}
