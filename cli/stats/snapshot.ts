import type { State, Target } from '../target/target.ts'

export type Snapshot = {
  readonly states: readonly State[]
  /** There are more queues than were asked for. */
  readonly isMore: boolean
}

/** Requests at once: a screenful of queues in a moment, and nothing that anybody would notice. */
const AT_ONCE = 8

/** The state of these queues, or of all that begin with `prefix`, by name. */
export async function snapshotOf(
  target: Target,
  {
    queues,
    prefix,
    limit,
  }: {
    readonly queues: readonly string[]
    readonly prefix: string | undefined
    readonly limit: number
  },
): Promise<Snapshot> {
  if (queues.length > 0) return { states: await inspectAll(target, queues), isMore: false }
  const names: string[] = []
  let isMore = false
  for await (const name of target.queues({ prefix })) {
    isMore = names.length === limit
    if (isMore) break
    names.push(name)
  }
  return { states: await inspectAll(target, names), isMore }
}

async function inspectAll(target: Target, queues: readonly string[]): Promise<State[]> {
  const states: State[] = []
  for (let at = 0; at < queues.length; at += AT_ONCE) {
    const some = queues
      .slice(at, at + AT_ONCE)
      .map((queue) => target.inspect(queue, { oldest: true }))
    states.push(...(await Promise.all(some)))
  }
  return states
}
