import { randomText } from '../../../foundation/random-text.ts'
import { awakeKey } from '../../core/keys.ts'
import { NEAR_MS } from '../../core/timers.ts'
import {
  type Awake,
  awakeIn,
  homeUpdate,
  noteUpdate,
  RENEW_MS,
  renewUpdate,
  takeUpdate,
} from '../../store/awake-row.ts'
import type { Engine } from '../attempts/engine.ts'

type Place = Pick<Engine, 'dynamo' | 'clock' | 'random'>

/** The row goes from one to another meanwhile, or answers get lost. */
const ATTEMPTS_MAX = 10
const HOLDER_CHARACTERS = 8
/** Nobody is told of what is further away than half of that: a note beyond it is of a clock that goes wrong. */
const STAY_MS_MAX = 2 * NEAR_MS

/** Of those that are called while somebody is awake, each has its time noted, and only one stays. */
export class Watch {
  readonly #place: Place
  #awake: Awake
  #renewAtMs: number

  private constructor(place: Place, awake: Awake) {
    this.#place = place
    this.#awake = awake
    this.#renewAtMs = place.clock.nowMs() + RENEW_MS
  }

  /** Nothing if another is awake, who has been told. */
  static async begin(place: Place, stayMs: number): Promise<Watch | undefined> {
    const { dynamo, clock, random } = place
    const me = randomText(random, HOLDER_CHARACTERS)
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const taken = await dynamo.update(awakeKey, takeUpdate(me, clock.nowMs()))
      if (taken.kind === 'unknown') continue
      const awake = awakeIn(taken.row)
      if (awake === undefined) continue
      if (taken.kind === 'done') return new Watch(place, awake)
      if (await isTold(place, awake, stayMs)) return undefined
    }
    throw new Error(
      'Cannot tell who is awake: the row changed, or its answers were lost, too often',
    )
  }

  /** It must stay until then, at least. */
  get stayMs(): number {
    const { stayMs = Number.NEGATIVE_INFINITY } = this.#awake
    return stayMs <= this.#place.clock.nowMs() + STAY_MS_MAX ? stayMs : Number.NEGATIVE_INFINITY
  }

  /** Whether it still is the one. */
  async goOn(): Promise<boolean> {
    const nowMs = this.#place.clock.nowMs()
    if (nowMs < this.#renewAtMs) return true
    const { dynamo } = this.#place
    const renewed = await dynamo.update(awakeKey, renewUpdate(this.#awake.holder, nowMs))
    // Lost answers are harmless: we ask again next time.
    if (renewed.kind === 'unknown') return true
    if (renewed.kind === 'failed') return false
    this.#awake = awakeIn(renewed.row) ?? this.#awake
    this.#renewAtMs = nowMs + RENEW_MS
    return true
  }

  /** Not if somebody has left a note meanwhile. */
  async goHome(): Promise<boolean> {
    const gone = await this.#place.dynamo.update(awakeKey, homeUpdate(this.#awake))
    if (gone.kind === 'done') return true
    // We ask again, as the next look does.
    if (gone.kind === 'unknown') return false
    const awake = awakeIn(gone.row)
    if (awake?.holder !== this.#awake.holder) return true
    this.#awake = awake
    return false
  }
}

async function isTold({ dynamo }: Place, { holder }: Awake, stayMs: number): Promise<boolean> {
  const told = await dynamo.update(awakeKey, noteUpdate(holder, stayMs))
  if (told.kind === 'done') return true
  if (told.kind === 'unknown') return false
  const awake = awakeIn(told.row)
  return awake?.holder === holder && awake.stayMs !== undefined && awake.stayMs >= stayMs
}
