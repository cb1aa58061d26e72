import { expect, it } from 'vitest'
import { onSimulated } from '../../engine/stage.ts'
import { drain, lockItems, named, push, tidy } from '../../engine/traffic.ts'
import { timedOut } from '../../engine/wire.ts'

/**
 * A process that dies while it keeps house leaves nothing that the next one does not find: deletes
 * come before the pointers that tell of them (rule 1).
 */
it('Housekeeping that dies before any of its requests leaves nothing behind.', async () => {
  for (let request = 1, died = true; died; request += 1) {
    died = false
    const { stage, queue, queues } = onSimulated()
    await queues.configure(queue, { segmentSize: 4 })
    for (const item of named('a', 60)) await push(queues, queue, [item])
    await push(queues, queue, named('b', 40))
    for (const item of named('c', 60)) await push(queues, queue, [item])
    await tidy(queues, queue)
    const { lock } = await lockItems(queues, queue, { count: 30 })
    await queues.acknowledge(queue, { lockId: lock.id })
    await queues.pop(queue, { count: 35 })

    const dying = stage.engine({
      before: (_, number) => {
        if (number < request) return
        died = true
        throw timedOut()
      },
    })
    await dying.housekeep(queue).catch(() => {})

    await drain(stage.engine(), queue)
    await tidy(stage.engine(), queue)
    const { sealed, segmentSize } = (await stage.record(queue)).lanes.get(0) ?? {
      sealed: 0,
      segmentSize: 4,
    }
    // The segment that the lane will go on in is not full, and goes with the lane.
    const last = String(Math.floor(sealed / segmentSize))
    const rows = (await stage.rows(queue, 's')).filter(
      ({ pk }) => (pk as string).split('#').at(-1) !== last,
    )
    expect(rows, `died before request ${request}`).toEqual([])
    expect(await stage.objects(queue), `died before request ${request}`).toEqual([])
  }
})
