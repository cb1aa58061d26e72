import { expect, it } from 'vitest'
import { createQueues } from '../../engine/queues.ts'
import { onSimulated } from './stage.ts'
import { lockItems, named, push } from './traffic.ts'

it('A record that a page of the index shows twice holds up no other queue, and is visited once.', async () => {
  const { stage, queues, queue } = onSimulated()
  const others = [queue, ...Array.from({ length: 20 }, () => stage.queue())]
  for (const one of others) {
    await push(queues, one, named('a', 1))
    await lockItems(queues, one, { ttlSeconds: 10 })
  }
  stage.clock.pass(20_000)
  const { tableName, bucketName, dynamodb, s3 } = stage.store
  const failures: unknown[] = []
  const sweeper = createQueues({
    tableName,
    bucketName,
    s3,
    clock: stage.clock,
    events: true,
    onBackgroundError: (error) => failures.push(error),
    dynamodb: {
      // A timer that has just moved: the page shows its old row and its new one.
      send: async (command: never) => {
        const answer = (await dynamodb.send(command)) as { Items?: { checkAt: number }[] }
        const isPage = (command as { input: { IndexName?: string } }).input.IndexName === 'check'
        const [first] = answer.Items ?? []
        if (!isPage || first === undefined) return answer
        const again = { ...first, checkAt: first.checkAt + 1 }
        return { ...answer, Items: [first, again, ...(answer.Items ?? []).slice(1)] }
      },
    },
  })
  const report = await sweeper.returnExpiredLocks()
  expect(report).toMatchObject({ queues: others.length, itemsReturned: others.length })
  expect(failures).toEqual([])
})
