import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Stack } from 'aws-cdk-lib/core'
import { describe, expect, it } from 'vitest'
import { pushPopApp } from '../../lib/pushpop-app.ts'
import { SettingError } from '../../lib/settings.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { lookInto, synthesised, withoutBundles } from './synthesised.ts'

const issuer = 'https://login.example/'
const topic = 'the ARN of an SNS topic'

describe('A setting that cannot be meant', () => {
  it.each([
    [
      { auth: 'jwt' },
      '"issuer" must be the https address of who issues the tokens, with auth=jwt, and it is not set',
    ],
    [{ auth: 'jwt', issuer: 'login.example', audience: 'a' }, '"issuer" must be the https address'],
    [
      { auth: 'jwt', issuer: 'http://login.example', audience: 'a' },
      'and it is "http://login.example"',
    ],
    [{ auth: 'jwt', issuer }, '"audience" must be whom the tokens are for'],
    [{ auth: 'jwt', issuer, audience: ' , ' }, '"audience" must be whom the tokens are for'],
    [{ auth: 'open' }, '"auth" must be one of iam, jwt, none, and it is "open"'],
    [{ auth: 'IAM' }, '"auth" must be one of iam, jwt, none, and it is "IAM"'],
    [{ auth: 'none', issuer }, '"auth" must be "jwt" where issuer and audience are set'],
    [{ audience: 'a' }, '"auth" must be "jwt" where issuer and audience are set'],
    [{ throwaway: 'yes' }, '"throwaway" must be one of true, false, and it is "yes"'],
    [{ stage: 'a b' }, '"stage" must be letters, digits and hyphens'],
    [{ stage: '-prod' }, '"stage" must be letters, digits and hyphens, beginning with a letter'],
    [{ sweepEvery: '0' }, '"sweepEvery" must be a number of seconds from 1 to 60, and it is "0"'],
    [{ sweepEvery: '61' }, '"sweepEvery" must be a number of seconds from 1 to 60'],
    [{ sweepEvery: 'often' }, '"sweepEvery" must be a number of seconds from 1 to 60'],
    [{ idempotencyTtl: '1.5' }, '"idempotencyTtl" must be a number of seconds from 60 to 2592000'],
    [{ logLevel: 'loud' }, '"logLevel" must be one of debug, info, warn, error, and it is "loud"'],
    [{ tracing: '0' }, '"tracing" must be one of true, false, and it is "0"'],
    [{ events: 'off' }, '"events" must be one of true, false, and it is "off"'],
    [{ inbox: 'on' }, '"inbox" must be one of true, false, and it is "on"'],
    [{ inboxConcurrency: '1' }, '"inboxConcurrency" must be a number from 2 to 1000'],
    [
      { concurrency: 'ApplyInbox:5', inbox: 'false' },
      'Health, Announce), and it is "ApplyInbox:5"',
    ],
    [{ itemAgeAlarm: '-1' }, '"itemAgeAlarm" must be a number of seconds'],
    [{ sweepers: '3' }, '"sweepers" must be one of 1, 2, 4, 8, 16, and it is "3"'],
    [{ remindAfter: '5' }, '"remindAfter" must be a number of seconds from 10 to 3600'],
    [{ rateHold: '21' }, '"rateHold" must be a number of seconds from 0 to 20, and it is "21"'],
    [{ rateHold: '-1' }, '"rateHold" must be a number of seconds from 0 to 20'],
    [{ rateHold: '2s' }, '"rateHold" must be a number of seconds from 0 to 20'],
    [{ concurrency: '50' }, '"concurrency" must be functions, each once, with 1 to 100000'],
    [{ concurrency: 'Rate:50,Push' }, 'such as Rate:50,Push:200 (there are Push, Pop, '],
    [{ concurrency: 'Rate:0' }, 'and it is "Rate:0"'],
    [{ concurrency: 'Rate:1.5' }, '"concurrency" must be functions'],
    [{ concurrency: 'Rate:100001' }, '"concurrency" must be functions'],
    [{ concurrency: 'rate:50' }, '"concurrency" must be functions'],
    [{ concurrency: 'Rate:50,Rate:60' }, '"concurrency" must be functions, each once'],
    [
      { concurrency: 'Announce:5', events: 'false' },
      'Housekeep, Health, ApplyInbox), and it is "Announce:5"',
    ],
    [
      { concurrency: 'ReturnExpiredLocks:3', sweepers: '4' },
      '"concurrency" must be ReturnExpiredLocks:4 or more for `sweepers` of 4, and it is "ReturnExpiredLocks:3"',
    ],
    [
      { concurrency: 'ReturnExpiredLocks:1', sweepEvery: '59' },
      'must be ReturnExpiredLocks:2 or more for `sweepers` of 1 with `sweepEvery` below 60 seconds',
    ],
    [{ sweepevery: '5' }, '"sweepevery" does not exist; write "sweepEvery"'],
    [{ cors: 'https://a' }, '"cors" does not exist; there are alarmTopic, audience, auth, '],
    [{ corsOrigins: 'https://a.b,a.b' }, '"corsOrigins" must be an origin as a browser sends it'],
    [{ alarmTopic: 'operators' }, `"alarmTopic" must be ${topic}, and it is "operators"`],
  ] as [Record<string, string>, string][])(
    '%o is refused in one sentence.',
    (context, sentence) => {
      let error: unknown
      try {
        synthesised(context)
      } catch (thrown) {
        error = thrown
      }
      expect(error).toBeInstanceOf(SettingError)
      expect((error as Error).message).toMatch(/^Cannot synthesise because the setting [^\n]+$/)
      expect((error as Error).message).toContain(sentence)
    },
  )
})

describe('docs/configuration.md', () => {
  const root = join(import.meta.dirname, '../..')
  const read = (file: string) => readFileSync(join(root, file), 'utf8')
  const [section = ''] = read('docs/configuration.md').split('\n## ')
  const [ofSettings = '', ofConstruct = ''] = section.split('Only the construct has these:')
  const namesIn = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name as string)
  const inTable = (text: string) => {
    const rows = text.split('\n').filter((line) => line.startsWith('| `'))
    return rows.flatMap((row) => namesIn(row.split('|')[1] as string))
  }
  const settings = [...read('lib/settings.ts').matchAll(/\bsetting\('(\w+)'\)/g)].map(
    ([, name]) => name as string,
  )

  it('has every setting, and no other.', () => {
    expect(inTable(ofSettings).sort()).toEqual([...new Set(settings)].sort())
  })

  it('names what only the construct has.', () => {
    const props =
      read('lib/constructs/service-props.ts').split('export type PushPopProps = {')[1] ?? ''
    const all = [...(props.split('\n}\n')[0] as string).matchAll(/^ {2}readonly (\w+)\?:/gm)].map(
      ([, name]) => name as string,
    )
    // `auth` makes that one.
    const only = all.filter((name) => !settings.includes(name) && name !== 'authorisation')
    expect(inTable(ofConstruct).sort()).toEqual(only.sort())
  })
})

describe('A stage', () => {
  it('has a separate stack and service name.', () => {
    const { stack, resources } = synthesised({ stage: 'trial' })
    expect(stack.stackName).toBe('PushPop-trial')
    expect(resources.Push?.Properties.Environment.Variables.PUSHPOP_SERVICE).toBe('PushPop-trial')
  })

  it('is for throwing away only if that is said, whatever its name.', () => {
    const { resources } = synthesised({ stage: 'dev' })
    expect(resources.StorageTable?.DeletionPolicy).toBe('Retain')
    expect(resources.PushLogs?.DeletionPolicy).toBe('RetainExceptOnCreate')
    expect(resources.ApiAccessLogs?.DeletionPolicy).toBe('RetainExceptOnCreate')
    const trial = synthesised({ stage: 'dev', throwaway: 'true' })
    expect(trial.resources.PushLogs?.DeletionPolicy).toBe('Delete')
  })
})

describe('Who may call', () => {
  const at = (outdir: string, context: Readonly<Record<string, string>>) => {
    const app = pushPopApp({ outdir, context: { ...withoutBundles, ...context }, checked: false })
    const stack = app.node.findChild('PushPop') as Stack
    return lookInto(app, stack)
  }
  const tokens = { auth: 'jwt', issuer: 'https://login.example', audience: 'a,b' }

  it('is an output of the stack.', () => {
    const { template } = at(temporaryFolder(), { ...tokens, corsOrigins: 'https://shop.example' })
    const value = 'jwt of https://login.example for a,b, pages of https://shop.example'
    template.hasOutput('WhoMayCall', { Value: value })
  })

  it('is warned of if only the command line says so, because the next one may not.', () => {
    const { warnings } = at(temporaryFolder(), tokens)
    expect(warnings).toEqual([
      expect.stringContaining('"auth" decides who may call, and comes from the command line'),
      expect.stringContaining('"issuer" decides'),
      expect.stringContaining('"audience" decides'),
    ])
    expect(at(temporaryFolder(), {}).warnings).toEqual([])
  })

  it('is warned of when the next deployment forgets a setting.', () => {
    const outdir = temporaryFolder()
    at(outdir, tokens).app.synth()
    const { app, warnings } = at(outdir, {})
    expect(warnings).toEqual([
      expect.stringContaining(
        'the last synth here said "jwt of https://login.example for a,b", and this one says "iam"',
      ),
    ])
    app.synth()
    expect(at(outdir, {}).warnings).toEqual([])
  })
})
