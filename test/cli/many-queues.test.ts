// What the command line does to many queues at once, and to their settings, on both kinds of places.

import { describe, expect, test } from 'vitest'
import { createClient } from '../../client/index.ts'
import type { TestQueues } from '../../testing/index.ts'
import { jsonLines } from './a-run.ts'
import { places, type Started, usePlace } from './places.ts'

describe.each(places)('on $name', ({ start }) => {
  const { place, queue, pushpop } = usePlace<Started>(start)
  const countIn = async (q: string) =>
    JSON.parse((await pushpop(`stats ${q} --json`)).stdout).queues[0].count

  test('purge --prefix asks, and says how much it would delete', async () => {
    const prefix = `${queue()}.`
    await pushpop(`push ${prefix}a 1 2`)
    await pushpop(`push ${prefix}b 3`)
    const unasked = await pushpop(`purge --prefix ${prefix}`)
    expect(unasked).toMatchObject({ code: 2, stdout: '' })
    expect(unasked.stderr).toMatch(/^Cannot purge --prefix ".*\." because .*use --yes$/m)

    const refused = await pushpop(`purge --prefix ${prefix}`, { isTTY: true, stdin: 'no\n' })
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('This deletes 3 items of 2 queues that begin with')
    expect(refused.stderr).toContain('Nothing was deleted')
    expect(await countIn(`${prefix}a`)).toBe(2)

    const purged = await pushpop(`purge --prefix ${prefix}`, { isTTY: true, stdin: `${prefix}\n` })
    expect(purged.code).toBe(0)
    expect(purged.stderr).toContain('Deleted 3 items of 2 queues.')
    expect(await countIn(`${prefix}a`)).toBe(0)
  })

  test('purge says how many items for later it would delete, and deletes them', async () => {
    const q = `${queue()}.a`
    await pushpop(`push ${q} 1 2`)
    await pushpop(`push ${q} 3 --delay 1h`)
    const asked = async (line: string) =>
      (await pushpop(line, { isTTY: true, stdin: 'no\n' })).stderr
    expect(await asked(`purge ${q}`)).toContain('This deletes 2 items, and 1 for later, of')
    expect(await asked(`purge --prefix ${q}`)).toContain(
      'This deletes 2 items, and 1 for later, of 1 queue that begins with',
    )
    expect(await asked(`purge ${q} --priority 0`)).toContain('This deletes 2 items of priority 0')
    expect((await pushpop(`purge ${q} --yes`)).stderr).toBe(`Deleted 3 items of ${q}.\n`)
  })

  test('purge --prefix --yes empties these queues and no other, a line each with --json', async () => {
    const [prefix, other] = [`${queue()}.`, queue()]
    const ids = Array.from({ length: 9 }, (_, n) => `${prefix}${n}`)
    for (const id of ids) await pushpop(`push ${id} 1`)
    await pushpop(`push ${other} 1`)
    const { code, stdout } = await pushpop(`purge --prefix ${prefix} --yes --json`)
    expect(code).toBe(0)
    const lines = jsonLines(stdout).sort((a, b) => (String(a.queue) < String(b.queue) ? -1 : 1))
    expect(lines).toEqual(ids.map((id) => ({ queue: id, items_purged: 1 })))
    expect(await countIn(other)).toBe(1)
    const nothing = await pushpop(`purge --prefix no-such- --yes`)
    expect(nothing).toEqual({
      code: 3,
      stdout: '',
      stderr: 'There is no queue whose id begins with "no-such-".\n',
    })
  })

  test('redrive --prefix moves the dead letters of all these queues back', async () => {
    const prefix = `${queue()}.`
    for (const id of ['a', 'b', 'c']) {
      const q = `${prefix}${id}`
      await pushpop(`push ${q} "x" "y"`)
      const { lock_id } = JSON.parse((await pushpop(`pop ${q} --ack --count 2 --json`)).stdout)
      await deadLetter(place(), q, lock_id, 'no address')
    }
    const peeked = await pushpop(`peek ${prefix}a-deadletter`)
    expect(peeked.stdout).toMatch(/DIED +AFTER +REASON/)
    expect(peeked.stdout).toMatch(/\d+ s +1 +no address +\S+ +"x"/)
    const [first] = jsonLines((await pushpop(`peek ${prefix}a-deadletter --json`)).stdout)
    expect(first).toMatchObject({ reason: 'no address', prior_deliveries: 1 })
    expect(first?.dead_lettered_at).toBeGreaterThan(1_700_000_000)

    const { code, stderr } = await pushpop(`redrive --prefix ${prefix}`)
    expect(stderr).toBe('Moved 6 items back from 3 queues.\n')
    expect(code).toBe(0)
    expect(await countIn(`${prefix}b`)).toBe(2)
  })

  test('a queue and --prefix contradict each other, and one of them is needed', async () => {
    for (const command of ['purge', 'redrive']) {
      const both = await pushpop(`${command} orders --prefix o`)
      expect(both).toMatchObject({ code: 2, stdout: '' })
      const neither = await pushpop(command)
      expect(neither.stderr).toContain('QUEUE or --prefix is missing')
    }
  })

  test('stats --sort shows the longest or the oldest first, as many as were asked for', async () => {
    const prefix = `${queue()}-`
    await pushpop(`push ${prefix}c 1`)
    await pushpop(`push ${prefix}a 1 2 3`)
    await pushpop(`push ${prefix}b 1 2`)
    const idsBy = async (options: string) =>
      JSON.parse((await pushpop(`stats --prefix ${prefix} --json ${options}`)).stdout).queues.map(
        ({ id }: { id: string }) => id.slice(prefix.length),
      )
    expect(await idsBy('')).toEqual(['a', 'b', 'c'])
    expect(await idsBy('--sort count')).toEqual(['a', 'b', 'c'])
    expect(await idsBy('--sort oldest')).toEqual(['c', 'a', 'b'])
    await pushpop(`pop ${prefix}b --ack --count 2`)
    expect(await idsBy('--sort locked --limit 1')).toEqual(['b'])
    const { stdout } = await pushpop(`stats --prefix ${prefix} --json --sort count --limit 2`)
    expect(JSON.parse(stdout)).toMatchObject({ more: true, queues: [{ count: 3 }, { count: 2 }] })
  })

  test('stats --sort dead shows the queues that hold dead letters, the longest first', async () => {
    const prefix = `${queue()}-`
    for (const [name, letters] of [
      ['a', 1],
      ['b', 3],
      ['c', 0],
      ['d', 2],
    ] as const) {
      await pushpop(`push ${prefix}${name} 1 2 3`)
      if (letters > 0) await pushpop(`push ${prefix}${name}-deadletter ${'0 '.repeat(letters)}`)
    }
    await pushpop(`push ${prefix}e-deadletter 1`)
    await pushpop(`pop ${prefix}e-deadletter`)
    const shown = async (options: string) => {
      const { stdout } = await pushpop(`stats --prefix ${prefix} --json --sort dead ${options}`)
      const { queues, more } = JSON.parse(stdout) as { queues: { id: string }[]; more?: true }
      return { ids: queues.map(({ id }) => id.slice(prefix.length)), more }
    }
    expect(await shown('')).toEqual({ ids: ['b-deadletter', 'd-deadletter', 'a-deadletter'] })
    expect(await shown('--limit 1')).toEqual({ ids: ['b-deadletter'], more: true })
    const both = await pushpop(`stats ${prefix}a ${prefix}d-deadletter --sort dead --json`)
    expect(JSON.parse(both.stdout).queues).toMatchObject([{ count: 2 }, { count: 3 }])
    const none = await pushpop(`stats --prefix ${prefix}c --sort dead`)
    expect(none.stderr).toBe(
      `There is no queue with dead letters whose id begins with "${prefix}c".\n`,
    )
  })

  test('config shows the settings, changes what is named, and takes settings away', async () => {
    const q = queue()
    const settings = async (line: string) => {
      const { code, stdout, stderr } = await pushpop(`config ${q} ${line} --json`)
      return code === 0 ? JSON.parse(stdout) : { code, stderr }
    }
    const before = await settings('get')
    expect(before).toMatchObject({ segment_size: 100, max_deliveries: null, push_limit: null })
    const limit = 'max_requests=10,window_millis=60000,algorithm=smooth,burst=2'
    const after = await settings(`set --max-deliveries 5 --capacity 1000 --push-limit ${limit}`)
    expect(after).toMatchObject({
      max_deliveries: 5,
      capacity: 1_000,
      push_limit: { max_requests: 10, window_millis: 60_000, algorithm: 'smooth', burst: 2 },
    })
    expect(
      await settings(`set --capacity none --push-limit 7 --if-match ${after.etag}`),
    ).toMatchObject({
      max_deliveries: 5,
      capacity: null,
      push_limit: { max_requests: 7, window_millis: 1_000 },
    })
    const stale = await settings(`set --capacity 9 --if-match ${after.etag}`)
    expect(stale).toMatchObject({ code: 4 })
    expect(JSON.parse(stale.stderr)).toMatchObject({ error_code: 'VERSION_MISMATCH' })
    const { stdout } = await pushpop(`config ${q}`)
    expect(stdout).toContain('max_deliveries    5\n')
    expect(stdout).toMatch(
      /push_limit +max_requests=7,window_millis=1000,algorithm=window,burst=1\n/,
    )
  })

  test.each([
    ['set', 'set needs a setting'],
    ['get --capacity 5', 'settings go with set'],
    ['put', '"put" is not get, set or remove'],
    ['set --max-deliveries 0', '--max-deliveries must be an integer from 1 to'],
    ['set --segment-size none', '--segment-size must be an integer'],
    ['set --push-limit often', '--push-limit must be a number of calls a second, none'],
    ['set --push-limit max_requests=x', 'not "max_requests=x"'],
    ['set --capasity 5', 'did you mean --capacity?'],
  ])('config %s is refused and says why', async (line, why) => {
    const { code, stderr } = await pushpop(`config orders ${line}`)
    expect(code).toBe(2)
    expect(stderr).toContain(why)
  })
})

/** The command line has no such verb: a consumer says why. */
async function deadLetter(place: Started, queue: string, lockId: string, reason: string) {
  const { store } = place as { readonly store?: TestQueues }
  if (store !== undefined) return store.queues.deadLetter(queue, { lockId, reason })
  const [, url = ''] = place.options
  return createClient({ url }).queue(queue).deadLetter(lockId, { reason })
}
