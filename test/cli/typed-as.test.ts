// A hint is a command to copy: it must work as it is printed, however this one was started.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { typedAs } from '../../cli/program.ts'
import { run } from './a-run.ts'
import { startStore, usePlace } from './places.ts'

describe('A hint names the command as it was typed', () => {
  test.each([
    [{ npm_lifecycle_event: 'pushpop' }, '/clone/cli/main.ts', 'npm run -s pushpop --'],
    [{ npm_lifecycle_event: 'npx' }, '/cache/_npx/1/node_modules/.bin/pushpop', 'npx pushpop'],
    [{}, '/shop/node_modules/.bin/pushpop', 'npx pushpop'],
    [{ npm_lifecycle_event: 'nightly' }, '/shop/node_modules/.bin/pushpop', 'npx pushpop'],
    [{}, '/usr/local/bin/pushpop', 'pushpop'],
    [{}, '/clone/cli/main.ts', 'node cli/main.ts'],
  ])('with %j and %s: %s', (env, script, program) => {
    const path = script.split('/').join(join('/'))
    expect(typedAs(env, path, join('/clone'))).toBe(program)
  })

  test('on each line of help, and in each sentence that fails', async () => {
    const program = 'npm run -s pushpop --'
    const help = await run('help push', { program })
    expect(help.stdout).toContain('  npm run -s pushpop -- push orders --file orders.jsonl\n')
    expect(help.stdout).not.toMatch(/(?<!-s )pushpop push/)
    const failed = await run('pop', { program })
    expect(failed.stderr).toContain('see: npm run -s pushpop -- help pop')
    const away = await run('pop orders --endpoint http://127.0.0.1:65535', { program })
    expect(away.stderr).toContain('start it with "npm run -s pushpop -- start --port 65535"')
  })
})

describe('The hint after a pop with a lock', () => {
  const { queue, pushpop } = usePlace(startStore)

  test.each(['pushpop', 'npm run -s pushpop --', 'npx pushpop'])(
    'of %s settles the lock',
    async (program) => {
      const q = queue()
      await pushpop(`push ${q} 1`)
      const { stderr } = await pushpop(`pop ${q} --ack`, { program })
      const [, hint = ''] = /Settle it with:\n {2}(.*)\n$/.exec(stderr) ?? []
      expect(hint.startsWith(`${program} ack --table `)).toBe(true)
      const { code } = await run(hint.slice(program.length + 1))
      expect(code).toBe(0)
    },
  )
})
