import type { Call, Fate } from './fate.ts'

// What those who called know of everything; the engine's records are not looked at. The files beside this one note
// what each kind of call was told, and say what cannot be.

type Ended = { readonly how: string; readonly at: number; readonly clockMs: number }

/** What makes an item large says nothing. */
const withoutFill = (text: string): string => text.replaceAll(/:x+(\\?")/g, '$1')

export class Account {
  readonly history: string[] = []
  readonly violations = new Set<string>()
  readonly fates = new Map<string, Fate>()
  readonly byId = new Map<string, Fate>()
  /** When what has this id is due at the earliest, and in which queue. */
  readonly dueById = new Map<string, number>()
  readonly queueById = new Map<string, string>()
  /** Ids under which nothing may be handed out any more. */
  readonly endedIds = new Map<string, Ended>()
  /** A purge of these may still be carried out. */
  readonly openPurges = new Set<string>()
  /** How far two clocks may be apart, because an item joins by the clock of the first process that comes. */
  readonly apartMs: number
  readonly #nowMs: () => number
  #moment = 0

  constructor(nowMs: () => number, apartMs: number) {
    this.#nowMs = nowMs
    this.apartMs = apartMs
  }

  note(text: string): void {
    this.history.push(`${this.#nowMs() % 10_000_000} ${withoutFill(text)}`)
  }

  violate(text: string): void {
    const short = withoutFill(text)
    this.violations.add(short)
    this.note(`VIOLATES ${short}`)
  }

  /** Each call and each answer has a moment of its own. */
  call(clockMs: number): Call {
    this.#moment += 1
    return { at: this.#moment, clockMs }
  }

  learn(id: string, text: string, queue: string): void {
    const fate = this.fates.get(text)
    const other = this.byId.get(id)
    if (other !== undefined && other !== fate) this.violate(`${id} names two items`)
    if (fate !== undefined) this.byId.set(id, fate)
    this.queueById.set(id, queue)
  }

  fateOf(id: string): Fate | undefined {
    return this.byId.get(id)
  }

  /** For good. */
  end(fate: Fate | undefined, how: 'taken' | 'cancelled' | 'purged'): void {
    if (fate === undefined) return
    if (how === 'taken') fate.taken += 1
    if (how === 'cancelled') fate.cancelled += 1
    fate.ended ??= { how, at: this.call(0).at }
  }

  /** What has this id has another from now on, or is gone. */
  endId(id: string, how: string, { clockMs }: { readonly clockMs: number }): Fate | undefined {
    const fate = this.byId.get(id)
    if (fate === undefined) this.violate(`${id} was ${how}, and nobody pushed it`)
    this.endedIds.set(id, { how, at: this.call(0).at, clockMs })
    return fate
  }
}
