// Every command on both kinds of places: the API of a local stack, and a table and bucket.

import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { jsonLines } from './a-run.ts'
import { places, type Started, useFolder, usePlace } from './places.ts'

describe.each(places)('on $name', ({ start }) => {
  const { queue, pushpop } = usePlace<Started>(start)
  const file = useFolder()

  test('what is pushed is popped, byte for byte', async () => {
    const q = queue()
    const items = ['{"b":1, "a":2.0}', '12345678901234567890', '"ä"']
    expect(await pushpop(['push', q, ...items])).toEqual({
      code: 0,
      stdout: '',
      stderr: `Pushed 3 items to ${q}.\n`,
    })
    expect(await pushpop(`pop ${q} --count 5`)).toEqual({
      code: 0,
      stdout: `${items.join('\n')}\n`,
      stderr: '',
    })
    expect(await pushpop(`pop ${q}`)).toMatchObject({ code: 3, stdout: '' })
  })

  test('what need not wait is in the queue a moment later, by way of the inbox or without', async () => {
    const q = queue()
    const { stdout, stderr, code } = await pushpop(`push ${q} 1 2 --async`)
    expect({ stdout, code }).toEqual({ stdout: '', code: 0 })
    expect(stderr).toMatch(new RegExp(`^Pushed 2 items to (the inbox, for )?${q}\\.\n$`))
    const counted = async () => jsonLines((await pushpop(`peek ${q} --json`)).stdout).length === 2
    await expect.poll(counted, { timeout: 20_000 }).toBe(true)
  })

  test('what expires at once goes to nobody, and what does so in a week is popped', async () => {
    const q = queue()
    await pushpop(`push ${q} 1 --expires-in 0`)
    await pushpop(`push ${q} 2 --expires-in 7d`)
    const [over, ready] = jsonLines((await pushpop(`peek ${q} --json`)).stdout)
    expect([over, ready]).toMatchObject([{ state: 'expired' }, { state: 'ready' }])
    expect((await pushpop(`pop ${q} --count 5`)).stdout).toBe('2\n')
    expect((await pushpop(`push ${q} 3 --expires-in soon`)).code).toBe(2)
    await pushpop(`config ${q} set --item-ttl-seconds 600 --expired dead_letter`)
    const { stdout } = await pushpop(`config ${q} --json`)
    expect(JSON.parse(stdout)).toMatchObject({ item_ttl_seconds: 600, expired: 'dead_letter' })
  })

  test('priority 0 comes first, and texts need no quotes', async () => {
    const q = queue()
    await pushpop(`push ${q} later --text --priority 7`)
    await pushpop(`push ${q}`, { stdin: '"now"\n\n"then"\n' })
    const { stdout } = await pushpop(`pop ${q} --count 3`)
    expect(stdout).toBe('"now"\n"then"\n"later"\n')
  })

  test('a bad line is named before anything of its push is sent', async () => {
    const q = queue()
    const lines = Array.from({ length: 1_499 }, (_, n) => String(n))
    const first = await pushpop(`push ${q}`, { stdin: '1\n2\n{bad\n4\n' })
    expect(first).toMatchObject({ code: 2, stdout: '' })
    expect(first.stderr).toContain('Cannot push line 3 of stdin because it is not JSON')
    expect(first.stderr).toContain('Nothing was pushed.')

    writeFileSync(file('bad'), `${[...lines, 'bad'].join('\n')}\n`)
    const second = await pushpop(`push ${q} --file ${file('bad')}`)
    expect(second.stderr).toContain('Cannot push line 1,500 of')
    expect(second.stderr).toContain('Pushed before: 1,000 items, up to line 1,000')
    expect((await pushpop(`pop ${q} --json`)).stdout).toContain('"items":[0]')
  })

  test('a key pushes once', async () => {
    const q = queue()
    const stdin = Array.from({ length: 1_200 }, (_, n) => `${n}\n`).join('')
    for (let time = 1; time <= 2; time += 1) {
      const { stdout } = await pushpop(`push ${q} --key k --json`, { stdin })
      const repeated = time === 2 ? true : undefined
      expect(jsonLines(stdout)).toMatchObject([
        { items_pushed: 1_000, ...(repeated && { repeated }) },
        { items_pushed: 200 },
      ])
      expect(jsonLines(stdout).map((it) => it.repeated)).toEqual([repeated, repeated])
    }
    const again = await pushpop(`push ${q} --key k`, { stdin })
    expect(again.stderr).toBe(`Pushed nothing to ${q}: the 1,200 items had been pushed before.\n`)
    const { stdout } = await pushpop(`stats ${q} --json`)
    expect(JSON.parse(stdout).queues).toMatchObject([{ id: q, count: 1_200 }])
    const other = await pushpop(`push ${q} --key k`, { stdin: '7\n' })
    expect(other).toMatchObject({ code: 4, stdout: '' })
    expect(await pushpop(`push ${q} 1 2 3 --key k`)).toEqual({
      code: 4,
      stdout: '',
      stderr:
        'Cannot push arguments 1 to 3 with this Idempotency-Key because it was used with other items. ' +
        'Nothing was pushed.\n',
    })
  })

  test('a pop that waits prints what comes meanwhile; it ends with nothing, or when it is stopped', async () => {
    const q = queue()
    const waiting = pushpop(`pop ${q} --wait 20`)
    await pushpop(`push ${q} "late"`)
    expect(await waiting).toEqual({ code: 0, stdout: '"late"\n', stderr: '' })
    expect(await pushpop(`pop ${q} --wait 1`)).toMatchObject({ code: 3, stdout: '' })
    const stop = new AbortController()
    const stopped = pushpop(`pop ${q} --wait 2`, { interrupt: stop.signal })
    stop.abort()
    expect(await stopped).toEqual({
      code: 130,
      stdout: '',
      stderr: 'Stopped; nothing was popped.\n',
    })
    expect(await pushpop(`pop ${q} --wait 21`)).toMatchObject({ code: 2 })
  })

  test('a lock is printed, stands in the way, and is settled', async () => {
    const q = queue()
    await pushpop(`push ${q} 1 2 3`)
    const locked = await pushpop(`pop ${q} --ack --count 2 --ttl 60 --json`)
    expect(locked).toMatchObject({ code: 0, stderr: '' })
    const answer = JSON.parse(locked.stdout)
    expect(answer).toMatchObject({ items: [1, 2], count: 2, locked: true, ttl_seconds: 60 })
    expect(answer.details).toMatchObject([{ priority: 0, deliveries: 1 }, { deliveries: 1 }])

    const refused = await pushpop(`pop ${q} --json`)
    expect(refused).toMatchObject({ code: 4, stdout: '' })
    expect(JSON.parse(refused.stderr)).toMatchObject({ error_code: 'QUEUE_LOCKED' })
    expect(await pushpop(`pop ${q} --competing`)).toMatchObject({ code: 0, stdout: '3\n' })

    const [first] = answer.details
    const some = await pushpop(`ack ${q} --ids ${first.id} -- ${answer.lock_id}`)
    expect(some).toMatchObject({ code: 0, stderr: `Acknowledged 1 item of ${q}.\n` })
    const rest = await pushpop(`ack ${q} -- ${answer.lock_id} AAAAAAAAAAA`)
    expect(rest.code).toBe(4)
    expect(rest.stderr).toContain('AAAAAAAAAAA: ')
    expect(rest.stderr).toContain(`Acknowledged 1 item of ${q}.`)
    expect((await pushpop(`ack ${q} AAAAAAAAAAA`)).code).toBe(4)
    expect(await pushpop(`ack ${q} nonsense`)).toEqual({
      code: 2,
      stdout: '',
      stderr: '"nonsense" is no lock id; pushpop pop --ack prints them\n',
    })
    expect((await pushpop(`release ${q} nonsense`)).code).toBe(2)
  })

  test('peek shows page after page and takes nothing', async () => {
    const q = queue()
    const stdin = Array.from({ length: 250 }, (_, n) => `{"n":${n}}\n`).join('')
    await pushpop(`push ${q} --priority 3`, { stdin })
    await pushpop(`push ${q} "first"`)
    const { stdout, code } = await pushpop(`peek ${q} --limit 230 --json`)
    const items = jsonLines(stdout)
    expect(code).toBe(0)
    expect(items).toHaveLength(230)
    expect(items[0]).toMatchObject({ item: 'first', priority: 0, state: 'ready', deliveries: 0 })
    expect(items[229]).toMatchObject({ item: { n: 228 }, priority: 3 })
    const table = await pushpop(`peek ${q} --priority 3 --limit 2`)
    expect(table.stdout).toMatch(/^PRIORITY {2}STATE .*\n +3 {2}ready .*\{"n":0\}\n.*\{"n":1\}\n$/)
    expect((await pushpop(`peek ${queue()}`)).code).toBe(3)
  })

  test('an item is pushed for later by a time, or a delay with a unit', async () => {
    const q = queue()
    const newYear = `${new Date().getUTCFullYear() + 1}-01-02T09:00Z`
    await pushpop(`push ${q} --deliver-at ${newYear} 1`)
    await pushpop(`push ${q} --delay 10m --expires-in 2h 2`)
    const shown = jsonLines((await pushpop(`scheduled ${q} --json`)).stdout)
    expect(shown.map(({ item }) => item)).toEqual([2, 1])
    expect(shown[1]).toMatchObject({ due_at: Date.parse(newYear) / 1000 })
    const both = await pushpop(`push ${q} --delay 10m --deliver-at ${newYear} 3`)
    expect(both).toMatchObject({ code: 2 })
    expect((await pushpop(`push ${q} --deliver-at soon 3`)).code).toBe(2)
  })

  test('an item that was for later says so once it is there, and is exported and imported', async () => {
    const pushed = async () => {
      for (;;) {
        const q = queue()
        await pushpop(`push ${q} --delay 1 --expires-in 1h 7`)
        const [waits] = jsonLines((await pushpop(`scheduled ${q} --json`)).stdout)
        // On a busy machine its second may be over by now.
        if (waits !== undefined) return { q, waits }
      }
    }
    const { q, waits } = await pushed()
    await expect
      .poll(async () => (await pushpop(`pop ${q} --ack --ttl 1 --json`)).stdout, {
        timeout: 10_000,
      })
      .toContain(`"scheduled_id":"${waits.id}","due_at":${waits.due_at}`)
    const peeked = await pushpop(`peek ${q} --json`)
    expect(jsonLines(peeked.stdout)).toMatchObject([
      { item: 7, scheduled_id: waits.id, due_at: waits.due_at },
    ])
    await pushpop(`export ${q} --file ${file(q)}`)
    const [line] = jsonLines(readFileSync(file(q), 'utf8'))
    expect(line).toMatchObject({ scheduled_id: waits.id, due_at: waits.due_at })
    expect(await pushpop(`import ${q}-copy --file ${file(q)}`)).toMatchObject({ code: 0 })
    const [copy] = jsonLines((await pushpop(`peek ${q}-copy --json`)).stdout)
    expect(Object.keys(copy ?? {})).toEqual([
      'item',
      'priority',
      'id',
      'pushed_at',
      'deliveries',
      'state',
    ])
  })

  test('an import refuses what is still for later', async () => {
    const q = queue()
    await pushpop(`push ${q} --delay 600 1`)
    const { stdout } = await pushpop(`scheduled ${q} --json`)
    const refused = await pushpop(`import ${q}`, { stdin: stdout })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('line 1 of stdin because it is an item for later')
  })

  test('scheduled shows what is for later, and cancel and move take its ids', async () => {
    const q = queue()
    expect((await pushpop(`scheduled ${q}`)).code).toBe(3)
    await pushpop(`push ${q} --delay 600 1 2`)
    const shown = async () => jsonLines((await pushpop(`scheduled ${q} --json`)).stdout)
    const [first, second] = await shown()
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    expect(first).toMatchObject({ item: 1, priority: 0, due_at: expect.any(Number) })
    expect((await pushpop(`scheduled ${q} --limit 1`)).stdout).toMatch(/DUE .*\n.*t-/)
    expect((await pushpop(`cancel ${q} ${first?.id}`)).code).toBe(0)
    // It says that it could not, in its exit code too.
    expect(await pushpop(`cancel ${q} ${first?.id}`)).toMatchObject({
      code: 4,
      stderr: `${first?.id} is gone.\nCancelled 0 items of ${q}.\n`,
    })
    const wrong = await pushpop(`cancel ${q} t-xx`)
    expect(wrong).toMatchObject({ code: 2 })
    expect(wrong.stderr).toMatch(/^Cannot cancel because "t-xx" is not an item's id/)
    const moved = await pushpop(`move ${q} ${second?.id} --deliver-at ${tomorrow} --priority 3`)
    expect(moved.stdout).toMatch(/^t-\S+ t-\S+\n$/)
    expect(await shown()).toMatchObject([{ item: 2, priority: 3 }])
    expect((await pushpop(`move ${q} ${second?.id} --deliver-at soon`)).code).toBe(2)
    expect((await pushpop(`scheduled ${q} --to 2020-01-01T00:00Z`)).code).toBe(3)
  })

  test('release gives back now, or later, and peek shows what waits', async () => {
    const q = queue()
    await pushpop(`push ${q} 1 2 3`)
    const lockId = async () => {
      const { stdout } = await pushpop(`pop ${q} --ack --competing --json`)
      return JSON.parse(stdout).lock_id as string
    }
    expect(await pushpop(`release ${q} -- ${await lockId()}`)).toEqual({
      code: 0,
      stdout: '',
      stderr: `Released 1 item of ${q}.\n`,
    })
    const later = await pushpop(`release ${q} --delay 600 --overtake --json -- ${await lockId()}`)
    expect(later).toMatchObject({ code: 0, stdout: '{"items_released":1}\n' })
    const [first, second] = jsonLines((await pushpop(`peek ${q} --json`)).stdout)
    expect(first).toMatchObject({ item: 1, state: 'waiting', retry_at: expect.any(Number) })
    expect(second).toMatchObject({ item: 2, state: 'ready' })
    expect((await pushpop(`pop ${q} --count 5`)).stdout).toBe('2\n3\n')
    expect((await pushpop(`release ${q} AAAAAAAAAAA`)).code).toBe(4)
    expect((await pushpop(`release ${q} AAAAAAAAAAA --delay 86401`)).code).toBe(2)
  })

  test('drain writes lines and leaves nothing; import brings them back, once', async () => {
    const [q, copy] = [queue(), queue()]
    const items = Array.from({ length: 1_050 }, (_, n) => `{"n":${n}.0}`)
    await pushpop(`push ${q} --priority 2`, { stdin: items.join('\n') })
    await pushpop(`push ${q} 1e400`)
    const drained = await pushpop(`drain ${q} --file ${file(q)} --json`)
    expect(JSON.parse(drained.stdout)).toMatchObject({ items_drained: 1_051 })
    const lines = readFileSync(file(q), 'utf8').trimEnd().split('\n')
    expect(lines[0]).toMatch(
      /^\{"item":1e400,"priority":0,"id":"[^"]+","pushed_at":[\d.]+,"deliveries":1\}$/,
    )
    expect(lines.slice(1).map((line) => line.slice(8, line.indexOf(',"p')))).toEqual(items)
    expect((await pushpop(`pop ${q}`)).code).toBe(3)
    expect(await pushpop(`drain ${q}`)).toMatchObject({ code: 0, stdout: '' })
    const again = await pushpop(`drain ${q} --file ${file(q)}`)
    expect(again).toMatchObject({ code: 2, stdout: '' })

    const imported = async () =>
      JSON.parse((await pushpop(`import ${copy} --file ${file(q)} --json`)).stdout)
    const [all, none] = [await imported(), await imported()]
    expect(all).toMatchObject({ items_imported: 1_051, items_imported_before: 0, pushes: 2 })
    expect(none).toMatchObject({ items_imported: 0, items_imported_before: 1_051, pushes: 2 })
    expect((await pushpop(`import ${copy} --file ${file(q)}`)).stderr).toBe(
      `Imported nothing into ${copy}: the 1,051 items had been pushed before.\n`,
    )
    const exported = await pushpop(`export ${copy}`)
    const back = exported.stdout.trimEnd().split('\n')
    expect(back.map((line) => line.slice(0, line.indexOf(',"id"')))).toEqual(
      lines.map((line) => line.slice(0, line.indexOf(',"id"'))),
    )
    await pushpop(`import ${copy} --file ${file(q)} --again`)
    const { queues: states } = JSON.parse((await pushpop(`stats ${copy} --json`)).stdout)
    expect(states).toMatchObject([{ count: 2_102, priorities: [{ count: 2 }, { count: 2_100 }] }])
  })

  test('drain goes on behind what a file holds, without what is in it already', async () => {
    const q = queue()
    // What expires has more to tell.
    await pushpop(`push ${q} 1 2 3 --expires-in 1h`)
    await pushpop(`export ${q} --file ${file(q)}`)
    const whole = readFileSync(file(q), 'utf8').replaceAll(',"state":"ready"', '')
    const [first = '', second = ''] = whole.split('\n')
    // As a drain leaves it that was killed in the middle of its second line.
    writeFileSync(file(q), `${first}\n${second.slice(0, 20)}`)
    const { code } = await pushpop(`drain ${q} --file ${file(q)} --append`)
    expect(code).toBe(0)
    const lines = jsonLines(readFileSync(file(q), 'utf8'))
    expect(lines.map(({ item }) => item)).toEqual([1, 2, 3])
  })

  test('drain stops at its limit, and stands back from the lock of another', async () => {
    const q = queue()
    await pushpop(`push ${q} 1 2 3`)
    expect((await pushpop(`drain ${q} --limit 1 --json`)).stdout).toContain('"item":1')
    await pushpop(`pop ${q} --ack`)
    expect((await pushpop(`drain ${q}`)).code).toBe(4)
    // It came to nothing, and is not in the way of the next.
    expect((await pushpop(`drain ${q} --file ${file(q)}`)).code).toBe(4)
    expect((await pushpop(`drain ${q} --file ${file(q)}`)).code).toBe(4)
    expect((await pushpop(`drain ${q} --competing`)).stdout).toContain('"item":3')
  })

  test('an import names a line that drain did not write', async () => {
    const q = queue()
    for (const [line, says] of [
      ['{"order":17}', 'line 2 of stdin because it has no "item"'],
      ['17', 'it is not a JSON object with an "item"'],
      ['{"item":1', 'it is not JSON'],
      ['{"item":1,"priority":-1}', 'its "priority" is not an integer'],
    ]) {
      const { code, stderr } = await pushpop(`import ${q}`, { stdin: `{"item":1}\n${line}\n` })
      expect(code).toBe(2)
      expect(stderr).toContain(says)
      expect(stderr).toContain('Nothing was pushed.')
    }
  })

  test('an export that was cut off goes on where it was', async () => {
    const q = queue()
    const stdin = Array.from({ length: 350 }, (_, n) => `${n}\n`).join('')
    await pushpop(`push ${q}`, { stdin })
    await pushpop(`export ${q} --file ${file('whole')}`)
    const whole = readFileSync(file('whole'), 'utf8')
    expect(whole.trimEnd().split('\n')).toHaveLength(350)

    const ending = new AbortController()
    // The second page has come, and is written before anybody asks.
    const cut = await pushpop(`export ${q} --file ${file('cut')}`, {
      interrupt: abortedAfter(ending, 2),
    })
    expect(cut).toMatchObject({ code: 130, stdout: '' })
    expect(readFileSync(file('cut'), 'utf8').length).toBeLessThan(whole.length)
    writeFileSync(file('cut'), 'half a line', { flag: 'a' })
    const { code } = await pushpop(`export ${q} --file ${file('cut')} --resume`)
    expect(code).toBe(0)
    expect(readFileSync(file('cut'), 'utf8')).toBe(whole)
    const over = await pushpop(`export ${q} --file ${file('cut')} --resume`)
    expect(over.stderr).toContain('that export is done')
  })

  test('redrive brings back what was dead-lettered; items pushed by hand stay', async () => {
    const q = queue()
    await pushpop(`push ${q}-deadletter 1`)
    const { stdout } = await pushpop(`redrive ${q} --json`)
    expect(JSON.parse(stdout)).toMatchObject({ items_redriven: 0, items_left: 1 })
  })

  test('purge deletes all, or one priority', async () => {
    const q = queue()
    await pushpop(`push ${q} 1 2`)
    await pushpop(`push ${q} 3 --priority 9`)
    const some = await pushpop(`purge ${q} --priority 9 --yes --json`)
    expect(JSON.parse(some.stdout)).toEqual({ queue: q, items_purged: 1 })
    const rest = await pushpop(`purge ${q} --yes`)
    expect(rest).toEqual({ code: 0, stdout: '', stderr: `Deleted 2 items of ${q}.\n` })
  })

  test('stats show queues by prefix, and their priorities', async () => {
    const q = `stats-${queue()}`
    await pushpop(`push ${q} 1 2`)
    await pushpop(`push ${q} 3 --priority 9`)
    await pushpop(`pop ${q} --ack`)
    const { stdout } = await pushpop('stats --prefix stats-')
    const [title, total, ...lanes] = stdout.trimEnd().split('\n')
    expect(title).toMatch(
      /^QUEUE +PRIORITY +COUNT +LOCKED +DYING +OLDEST +SCHEDULED +NEXT +SEGMENTS +OFFLOADED +STORED$/,
    )
    expect(total).toMatch(new RegExp(`^${q} +3 +1 +\\d+ s$`))
    expect(lanes).toEqual([
      expect.stringMatching(/^ +0 +2 +0 +record 2$/),
      expect.stringMatching(/^ +9 +1 +0 +record 1$/),
    ])
    expect((await pushpop('stats --prefix no-such')).stderr).toBe(
      'There is no queue whose id begins with "no-such".\n',
    )
  })

  test('stats show how many items are for later, and when the next is due', async () => {
    const q = queue()
    await pushpop(`push ${q} --delay 150m 1 2`)
    await pushpop(`push ${q} --delay 7d 3`)
    const { stdout } = await pushpop(`stats ${q}`)
    expect(stdout.trimEnd().split('\n')[1]).toMatch(new RegExp(`^${q} +0 +3 +in 2 h$`))
    const { queues: states } = JSON.parse((await pushpop(`stats ${q} --json`)).stdout)
    expect(states).toMatchObject([{ scheduled_count: 3, next_due_at: expect.any(Number) }])
  })

  test('with --json, stdout is JSON and stderr is empty', async () => {
    const q = queue()
    const runs = [
      await pushpop(`push ${q} 1 --json`),
      await pushpop(`peek ${q} --json`),
      await pushpop('stats --json'),
      await pushpop(`export ${q} --json`),
      await pushpop(`export ${q} --file ${file('json')} --json`),
      await pushpop(`drain ${q} --json`),
      await pushpop(`import ${q} --file ${file('json')} --json`),
      await pushpop(`pop ${q} --json`),
      await pushpop(`pop ${q} --json`),
      await pushpop(`redrive ${q} --json`),
      await pushpop(`purge ${q} --yes --json`),
    ]
    for (const { stdout, stderr } of runs) {
      expect(jsonLines(stdout).length).toBeGreaterThan(0)
      expect(stderr).toBe('')
    }
  })
})

/** A signal that is aborted when it has been looked at so often. */
function abortedAfter(controller: AbortController, looks: number): AbortSignal {
  let seen = 0
  return new Proxy(controller.signal, {
    get(signal, name) {
      if (name === 'aborted') {
        seen += 1
        if (seen > looks) controller.abort()
      }
      const value = Reflect.get(signal, name, signal)
      return typeof value === 'function' ? value.bind(signal) : value
    },
  })
}
