/** A time of a request, in epoch seconds there. */
export const msOf = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.round(1_000 * seconds)
