import type { ItemRecord } from './ledger.ts'
import type { Model } from './model.ts'

/** What a producer sent to the inbox: the texts of its items, or one text that is no push. */
export type Sent = { readonly queue: string; readonly texts: readonly string[] }

/**
 * Every message that SQS accepted is in its queue or among its dead letters, once, or was given up where it has none;
 * and what was pushed without a key is there in the order in which SQS has it.
 */
export function checkInbox(
  { ledger, world }: Model,
  accepted: readonly Sent[],
  givenUp: readonly string[],
): void {
  const last = new Map<string, number>()
  for (const { queue, texts } of accepted) {
    const records = texts.map((text) => ledger.item(text))
    const [pushedBy] = records.map((record) => record?.pushedBy)
    if (records.some((record) => record?.first === undefined) || pushedBy === undefined) {
      const isKept = givenUp.some((body) => body.includes(texts[0] as string))
      if (!isKept)
        world.violated('what the inbox accepted is pushed', `${texts.join()} to ${queue}`)
      continue
    }
    world.statistics.count(`path inbox ${pushedBy.isBuried ? 'buried' : 'pushed'}`)
    // A repetition has the place of the first, which may have gone beside the inbox.
    if (pushedBy.key !== undefined) continue
    for (const { text, first = { at: 0, lane: '' } } of records as ItemRecord[]) {
      const lane = `${queue} in ${first.lane}`
      if (first.at < (last.get(lane) ?? 0)) {
        world.violated('the inbox keeps its order', `${text} came too early to ${lane}`)
      }
      last.set(lane, first.at)
    }
  }
}
