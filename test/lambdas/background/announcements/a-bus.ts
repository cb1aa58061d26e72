import { createLog } from '../../../../lambdas/runtime/log.ts'
import type { EventEntry, EventsPort } from '../../../../lambdas/runtime/put-events.ts'

export type Detail = { readonly id: string; readonly queue: string } & Readonly<
  Record<string, unknown>
>

const detailOf = ({ Detail }: EventEntry): Detail => JSON.parse(Detail)

/** What a call does: `undefined` takes all. An error with `taken` loses the answer of what it took. */
export type Trouble = (entries: readonly EventEntry[], call: number) => Reaction | undefined
type Reaction =
  | { readonly refused: (entry: EventEntry, index: number) => string | undefined }
  | { readonly throws: Error; readonly taken?: boolean }

/** A bus that remembers, with troubles. */
export class ABus implements EventsPort {
  readonly taken: EventEntry[] = []
  readonly sizes: number[] = []
  calls = 0
  trouble: Trouble = () => undefined

  async putEvents(entries: readonly EventEntry[]) {
    this.calls += 1
    this.sizes.push(entries.length)
    const reaction = this.trouble(entries, this.calls)
    if (reaction !== undefined && 'throws' in reaction) {
      if (reaction.taken) this.taken.push(...entries)
      throw reaction.throws
    }
    return entries.map((entry, index) => {
      const ErrorCode = reaction?.refused(entry, index)
      if (ErrorCode === undefined) this.taken.push(entry)
      return { ErrorCode }
    })
  }

  get details(): Detail[] {
    return this.taken.map(detailOf)
  }

  get kinds(): string[] {
    return this.taken.map((entry) => `${entry.DetailType} ${detailOf(entry).queue}`)
  }
}

/** A run without pauses, that notes them. */
export function aRun(remainingMs: () => number = () => 60_000) {
  const lines: string[] = []
  const pauses: number[] = []
  return {
    lines,
    pauses,
    log: createLog({ level: 'info', service: 'x', write: (line) => lines.push(line) }),
    remainingMs,
    sleep: async (ms: number) => {
      pauses.push(ms)
    },
    random: () => 1,
  }
}
