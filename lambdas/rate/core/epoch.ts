import { QueueError } from '../../foundation/errors.ts'
import { SMOOTH_ERA_MS } from './bounds.ts'
import { type Algorithm, type Rules, sameRules } from './rules.ts'

/** Rules, and where they come from. */
export type Ruling = {
  readonly rules: Rules
  /** The revision of the configuration that they come from; a greater one is newer. 0: no configuration. */
  readonly revision: number
  /** The row holds them as its key's own settings, so it must stay. */
  readonly configured: boolean
}

/**
 * The ruler by which we read a row's cursor. Two epochs of one row never have the same text, so a write that
 * names its epoch can only land on the cursor for which it was meant.
 */
export type Epoch = Ruling & {
  /** Where slot 0 lies. */
  readonly startMs: number
  /** How often the ruler has changed since the row was made. */
  readonly generation: number
}

/**
 * A new row's epoch. It follows from rules and time alone, so that its text is known to a process that has
 * never seen the row, and to one that looks after the row was deleted.
 */
export function naturalEpoch({ rules, revision, configured }: Ruling, nowMs: number): Epoch {
  const startMs =
    rules.algorithm === 'window' ? 0 : Math.floor(nowMs / SMOOTH_ERA_MS) * SMOOTH_ERA_MS
  return { rules, revision, configured, startMs, generation: 0 }
}

/** `w100/1000~0@0+0`, `s60/60000x5~1790000000000k@1717986918400+2` */
export function epochText({ rules, revision, configured, startMs, generation }: Epoch): string {
  const { algorithm, maxRequests, windowMs, burst } = rules
  const form = algorithm === 'window' ? 'w' : 's'
  const extra = algorithm === 'window' ? '' : `x${burst}`
  const origin = configured ? `${revision}k` : String(revision)
  return `${form}${maxRequests}/${windowMs}${extra}~${origin}@${startMs}+${generation}`
}

const epochForm = /^(w|s)(\d+)\/(\d+)(?:x(\d+))?~(\d+)(k?)@(\d+)\+(\d+)$/
const algorithms: Readonly<Record<string, Algorithm>> = { w: 'window', s: 'smooth' }

export function parseEpoch(text: string): Epoch {
  const match = epochForm.exec(text)
  // Its form is the row's format: a write names the epoch it is made for, and so refuses another.
  if (match === null) {
    throw new QueueError(
      'FORMAT_UNKNOWN',
      `Cannot use a rate limit because a newer PushPop has written it ("${text}"): deploy the newer version here as well`,
    )
  }
  const [, form = '', maxRequests, windowMs, burst = 1, revision, own, startMs, generation] = match
  return {
    rules: {
      algorithm: algorithms[form] as Algorithm,
      maxRequests: Number(maxRequests),
      windowMs: Number(windowMs),
      burst: Number(burst),
    },
    revision: Number(revision),
    configured: own === 'k',
    startMs: Number(startMs),
    generation: Number(generation),
  }
}

/** Whether a row under this epoch already has this ruling. */
export const isRuledBy = (epoch: Epoch, ruling: Ruling): boolean =>
  epoch.revision === ruling.revision &&
  epoch.configured === ruling.configured &&
  sameRules(epoch.rules, ruling.rules)
