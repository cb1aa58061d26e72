import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { invokeCommand } from '../../scripts/invoke.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let folder: string
beforeAll(() => {
  folder = temporaryFolder()
})

async function invoke(...args: string[]) {
  const out: string[] = []
  const err: string[] = []
  const code = await invokeCommand(
    args,
    (line) => out.push(line),
    (line) => err.push(line),
  )
  return { code, out, err }
}

const events = join(import.meta.dirname, '../../events')
const event = (name: string): string => join(events, `${name}.json`)

describe('npm run invoke', () => {
  it('runs functions one after the other, and prints what they log and answer.', async () => {
    const { code, out } = await invoke(
      'Push',
      event('push'),
      'Pop',
      event('pop-require-ack'),
      'Settle',
      event('acknowledge'),
      'ReturnExpiredLocks',
      event('return-expired-locks'),
    )
    expect(code).toBe(0)
    const answers = out.filter((line) => /^(\d{3} )?\{(?!"level")/.test(line))
    expect(answers).toEqual([
      expect.stringMatching(/^200 \{"success":true,"items_pushed":1/),
      expect.stringMatching(
        /^200 \{"items":\[\{"order":17,"price":9.50\}\],"count":1,"locked":true/,
      ),
      expect.stringMatching(/^200 \{"success":true,.*"items_acknowledged":1\}/),
      expect.stringMatching(/^\{"sweeps":1,/),
    ])
    expect(
      out.filter((line) => line.startsWith('{"level":"info","message":"request"')),
    ).toHaveLength(3)
  })

  it('keeps its data where it is told to.', async () => {
    const data = ['--data', join(folder, 'data')]
    expect((await invoke('Push', event('push'), ...data)).code).toBe(0)
    const { out } = await invoke('Pop', event('pop'), ...data)
    expect(out.at(-1)).toContain('"count":1')
  })

  it('says in a sentence what is wrong.', async () => {
    const broken = join(folder, 'broken.json')
    writeFileSync(broken, '{')
    const cases = [
      [
        ['Pusch', event('push')],
        /^Cannot run Pusch because the stack has no such function; it has Wake, Push, /,
      ],
      [
        ['Push', 'events/nothing.json'],
        'Cannot read events/nothing.json because there is no such file',
      ],
      [['Push', folder], `Cannot read ${folder} because it cannot be opened`],
      [['Push', broken], `Cannot read ${broken} because it is not JSON`],
      [['Push'], 'Cannot run Push because no event is given; try Push events/push.json'],
      [['--fast'], 'Cannot run anything because there is no option --fast'],
      [['--data'], 'Cannot keep the data because --data needs a folder'],
    ] as const
    for (const [args, sentence] of cases) {
      const { code, err } = await invoke(...args)
      expect(code).toBe(1)
      expect(err.at(-1)).toMatch(sentence)
    }
    expect((await invoke()).out[0]).toContain('npm run invoke -- Push events/push.json')
  })
})
