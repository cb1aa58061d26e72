import type { Queues } from '../../../../../lambdas/engine/queues.ts'
import type { Command } from './command.ts'
import type { Writer } from './writer.ts'

/**
 * A writer's process as the engine's interface, for code of ours that calls it (consumers, the inbox): each call
 * is an operation like any other, so the checkers judge it. Of a process that dies, no call ever ends.
 */
export function asQueues(writer: Writer, verbs: readonly Command['verb'][]): Queues {
  const { life } = writer
  const call =
    (verb: Command['verb']) =>
    (...given: readonly unknown[]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        if (life.dead) return
        const [queue, request = {}] = verb === 'list' ? ['', ...given] : given
        writer.run({ verb, queue, request } as Command, ({ outcome }) => {
          if (outcome?.kind === 'success') resolve(outcome.value)
          else if (outcome !== undefined && 'error' in outcome) reject(outcome.error)
        })
      })
  return Object.fromEntries(verbs.map((verb) => [verb, call(verb)])) as unknown as Queues
}
