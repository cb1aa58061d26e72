import { describe, expect, test } from 'vitest'
import { places, type Started, usePlace } from './places.ts'

describe.each(places)('on $name', ({ start }) => {
  const { queue, pushpop } = usePlace<Started>(start)

  test('a schedule is put, listed, run, paused, resumed and deleted', async () => {
    const q = queue()
    expect(await pushpop(`schedules ${q}`)).toMatchObject({ stderr: 'There are no schedules.\n' })
    const item = '{"b":1, "a":2.0}'
    const put = ['schedules', q, 'put', 'weekly', '--cron', '0 9 * * 1', '--item', item]
    const { stderr, code } = await pushpop([...put, '--starts-at', '2100-01-01T00:00Z'])
    expect({ stderr, code }).toEqual({
      stderr: 'Put weekly, next at 2100-01-04T09:00:00Z.\n',
      code: 0,
    })
    const { stdout } = await pushpop(`schedules ${q} get weekly`)
    expect(stdout).toContain(`"item":${item}`)
    const table = await pushpop(`schedules ${q}`)
    expect(table.stdout).toMatch(/weekly +0 9 \* \* 1 UTC +2100-01-04T09:00:00Z/)
    expect(await pushpop(`schedules ${q} run weekly`)).toMatchObject({ stderr: 'Ran weekly.\n' })
    expect(await pushpop(`pop ${q}`)).toMatchObject({ stdout: `${item}\n` })
    await pushpop(`schedules ${q} pause weekly`)
    expect((await pushpop(`schedules ${q}`)).stdout).toContain('paused')
    await pushpop(`schedules ${q} resume weekly`)
    expect(await pushpop(`schedules ${q} delete weekly --if-match nonsense`)).toMatchObject({
      code: 4,
    })
    expect(await pushpop(`schedules ${q} delete weekly`)).toMatchObject({ code: 0 })
    expect(JSON.parse((await pushpop(`schedules ${q} --json`)).stdout)).toEqual({ schedules: [] })
  })

  test('wrong arguments are refused before anything is sent', async () => {
    const q = queue()
    expect(await pushpop(`schedules ${q} put weekly --every 60`)).toMatchObject({ code: 2 })
    expect(await pushpop(`schedules ${q} pause`)).toMatchObject({ code: 2 })
    expect(await pushpop(`schedules ${q} stop weekly`)).toMatchObject({ code: 2 })
    const often = await pushpop(`schedules ${q} put weekly --every 5 --item 1`)
    expect(often).toMatchObject({ code: 2 })
    expect(often.stderr).toMatch(
      /^Cannot use schedules because --every must be 10 to \d+ seconds, or/,
    )
    const late = await pushpop(`schedules ${q} put weekly --every 60 --item 1 --starts-at soon`)
    expect(late).toMatchObject({ code: 2 })
  })
})
