// A queue with a pop_limit: the pop that acknowledges a batch is refused at once, and nobody should hold a lock while
// waiting for the next.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './a-run.ts'
import { places, type Started, useFolder, usePlace } from './places.ts'

describe.each(places)('on $name', ({ start }) => {
  const { queue, pushpop } = usePlace<Started>(start)
  const file = useFolder()
  const numbers = [...Array(250).keys()]

  async function limitedQueue(windowMs: number): Promise<string> {
    const q = queue()
    await pushpop(`push ${q}`, { stdin: numbers.join('\n') })
    // Smooth: the next turn is a whole window away, whenever this one was.
    const limit = `max_requests=1,window_millis=${windowMs},algorithm=smooth`
    await pushpop(`config ${q} set --pop-limit ${limit}`)
    return q
  }

  const stateOf = async (q: string) =>
    JSON.parse((await pushpop(`stats ${q} --json`)).stdout).queues[0]

  test('a drain waits for the limit, and takes all', async () => {
    const q = await limitedQueue(1_100)
    const drained = await pushpop(`drain ${q} --file ${file(q)}`)
    expect(drained.stderr).toContain(`Drained 250 items of ${q} into ${file(q)}.\n`)
    expect(drained.code).toBe(0)
    expect(jsonLines(readFileSync(file(q), 'utf8')).map(({ item }) => item)).toEqual(numbers)
    expect(await stateOf(q)).toMatchObject({ count: 0, locked_count: 0 })
  })

  test('one that would wait too long says what it has drained, and holds nothing', async () => {
    const q = await limitedQueue(3_600_000)
    const { code, stderr } = await pushpop(`drain ${q} --file ${file(q)}`)
    expect(code).toBe(4)
    expect(stderr).toMatch(
      /pop_limit .*\. Drained before: 100 items of q-\d+; the rest is still there\.\n$/,
    )
    expect(jsonLines(readFileSync(file(q), 'utf8'))).toHaveLength(100)
    expect(await stateOf(q)).toMatchObject({ count: 150, locked_count: 0 })
  })

  test('Ctrl-C ends the wait', async () => {
    const q = await limitedQueue(50_000)
    const ctrlC = new AbortController()
    const onStdout = () => setTimeout(() => ctrlC.abort(), 300)
    const { code, stderr } = await pushpop(`drain ${q}`, { interrupt: ctrlC.signal, onStdout })
    expect(code).toBe(130)
    expect(stderr).toMatch(/^Waiting \d+ s: .*pop_limit/)
    expect(stderr).toMatch(/Stopped\. Drained 100 items of q-\d+; the rest is still there\.\n$/)
    expect(await stateOf(q)).toMatchObject({ count: 150, locked_count: 0 })
  })
})
