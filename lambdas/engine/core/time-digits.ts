/** How many base-36 digits of milliseconds a time has inside a stored text. */
export const TIME_DIGITS = 8
/** The first time that needs one digit more: 2059-05-25. */
export const TIMES_END_MS = 36 ** TIME_DIGITS

/** Readers count the digits: with one more, or a fraction, they would take a part of the time for the text behind it. */
export function encodeTime(ms: number): string {
  const whole = Math.max(0, ms)
  if (!Number.isInteger(whole) || whole >= TIMES_END_MS) {
    throw new RangeError(
      `Cannot store the time ${ms} because it is not a whole number of milliseconds, or because PushPop's times end on 2059-05-25: check the clock`,
    )
  }
  return whole.toString(36).padStart(TIME_DIGITS, '0')
}
