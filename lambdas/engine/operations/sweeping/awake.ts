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
  TERM_MS,
  takeUpdate,
} from '../../store/awake-row.ts'
import type { Engine } from '../attempts/engine.ts'

type Place = Pick<Engine, 'dynamo' | 'clock' | 'random'>

/** Meanwhile another run may take the row, or answers may get lost. */
const ATTEMPTS_MAX = 10
const HOLDER_CHARACTERS = 8
/** No caller notes a time further away than half of this: a note beyond it comes from a wrong clock. */
const STAY_MS_MAX = 2 * NEAR_MS

/** One run of Wake stays awake; a run that is called meanwhile leaves its time as a note, and ends. */
export class Watch {
  readonly #place: Place
  #awake: Awake
  #renewAtMs: number

  private constructor(place: Place, awake: Awake) {
    this.#place = place
    this.#awake = awake
    this.#renewAtMs = place.clock.nowMs() + RENEW_MS
  }

  /** `undefined` if another run is awake and has our note. `takesOver`: we know that the other run has ended. */
  static async begin(place: Place, stayMs: number, takesOver = false): Promise<Watch | undefined> {
    const { dynamo, clock, random } = place
    const termMs = takesOver ? 0 : TERM_MS
    const me = randomText(random, HOLDER_CHARACTERS)
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      const taken = await dynamo.update(awakeKey, takeUpdate(me, clock.nowMs(), termMs))
      if (taken.kind === 'unknown') continue
      const awake = awakeIn(taken.row)
      if (awake === undefined) continue
      if (taken.kind === 'done') return new Watch(place, awake)
      if (await isTold(place, awake, stayMs)) return undefined
    }
    throw new Error(
      'Cannot tell which run is awake: the row changed, or its answers were lost, too often',
    )
  }

  /** This run must stay at least until then. */
  get stayMs(): number {
    const { stayMs = Number.NEGATIVE_INFINITY } = this.#awake
    return stayMs <= this.#place.clock.nowMs() + STAY_MS_MAX ? stayMs : Number.NEGATIVE_INFINITY
  }

  /** Renews the lease; returns whether this run is still the one that is awake. */
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

  /** Ends this run's turn, unless another run has left a note meanwhile. */
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
