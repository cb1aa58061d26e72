// Amounts as people read them.

export const grouped = (n: number): string => n.toLocaleString('en-US')

/** `1 item`, `2,000 items` */
export const counted = (n: number, noun: string): string =>
  `${grouped(n)} ${noun}${n === 1 ? '' : 's'}`

const steps = [
  { unit: 'd', seconds: 86_400 },
  { unit: 'h', seconds: 3_600 },
  { unit: 'min', seconds: 60 },
] as const

/** `3 d`, `12 min`, `4 s`: one unit is enough to see whether something waits too long. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  for (const step of steps) {
    if (seconds >= step.seconds) return `${Math.floor(seconds / step.seconds)} ${step.unit}`
  }
  return `${seconds} s`
}

/** `10:04:12`, in the reader's time zone. */
export const clockTime = (ms: number): string => {
  const time = new Date(ms)
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':')
}
