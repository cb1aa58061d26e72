import { grouped } from '../terminal/amounts.ts'

/** From the API's epoch seconds, with milliseconds: a window may be a tenth of a second. */
export const isoTime = (seconds: number): string =>
  new Date(Math.round(seconds * 1000)).toISOString()

/** `40 ms`, `1.3 s`, `3,600 s`: never less than it is. */
export const pause = (ms: number): string =>
  ms < 1000 ? `${Math.ceil(ms)} ms` : `${grouped(Math.ceil(ms / 100) / 10)} s`
