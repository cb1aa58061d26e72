import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import cdkJson from '../../cdk.json' with { type: 'json' }
import { bundle } from '../../lib/bundling/bundle.ts'
import { entriesOf } from '../../lib/bundling/bundled-code.ts'
import { handlerGroups } from '../../lib/constructs/function-settings.ts'
import { pushPopApp } from '../../lib/pushpop-app.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { withoutBundles } from './synthesised.ts'

const root = join(import.meta.dirname, '../..')

const template = (folder: string, name = 'PushPop') =>
  readFileSync(join(folder, `${name}.template.json`), 'utf8')

function synthesisedHere(context: Record<string, unknown> = {}): string {
  const outdir = temporaryFolder()
  pushPopApp({ outdir, context, checked: false }).synth()
  return outdir
}

/** The app as the CLI runs it: a process of its own, told where to write and what was set. */
function runApp(context: Record<string, string> = {}) {
  const outdir = temporaryFolder()
  const result = spawnSync(process.execPath, ['bin/pushpop.ts'], {
    cwd: root,
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      CDK_OUTDIR: outdir,
      CDK_CONTEXT_JSON: JSON.stringify(context),
      // A second, and the test after next does it.
      CDK_VALIDATION: 'false',
    },
  })
  return { ...result, outdir }
}

const first = synthesisedHere()

describe('A synth', () => {
  it('gives the same template and the same assets again.', () => {
    const second = synthesisedHere()
    expect(template(second)).toBe(template(first))
    expect(readdirSync(second).sort()).toEqual(readdirSync(first).sort())
  })

  it('gives the same as the CLI, which runs the app in a separate process.', () => {
    const { outdir, stderr, status } = runApp()
    expect(stderr).toBe('')
    expect(status).toBe(0)
    expect(template(outdir)).toBe(template(first))
  })

  it('goes by the flags of cdk.json, which only the CLI reads by itself.', () => {
    const { node } = pushPopApp({ outdir: temporaryFolder(), context: withoutBundles })
    const flags = Object.entries(cdkJson.context)
    expect(flags.length).toBeGreaterThan(80)
    for (const [flag, value] of flags)
      expect([flag, node.tryGetContext(flag)]).toEqual([flag, value])
  })

  it('is right by CloudFormation’s own schemas.', () => {
    const outdir = temporaryFolder()
    pushPopApp({ outdir }).synth()
    const report = JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8'))
    expect(report).toMatchObject({ title: 'Validation Report', pluginReports: [] })
  })

  it('ends in one sentence if a setting is wrong.', () => {
    const { stderr, status } = runApp({ auth: 'jwt' })
    expect(stderr).toMatch(/^Cannot synthesise because the setting "issuer" must be [^\n]+\n$/)
    expect(status).toBe(1)
  })

  it('says for every function where its own bundle is, which local runners need.', () => {
    const { Resources } = JSON.parse(template(first))
    const bundles = new Map(handlerGroups.flatMap((files) => [...bundle(entriesOf(files))]))
    // This app has an inbox: its pushes can be sent there.
    bundles.delete('Push')
    const folders = [...bundles].map(([name, { files }]) => {
      const { Metadata } = Resources[name === 'PushInbox' ? 'Push' : name] as {
        Metadata: Record<string, string>
      }
      expect(Metadata['aws:asset:property']).toBe('Code')
      const folder = join(first, Metadata['aws:asset:path'] as string)
      expect(readdirSync(folder).sort()).toEqual([...files.keys()].sort())
      const index = readFileSync(join(folder, 'index.mjs'), 'utf8')
      expect(index).toBe(Buffer.from(files.get('index.mjs') ?? []).toString())
      return folder
    })
    expect(new Set(folders).size).toBe(12)
  })
})

describe('Logical ids', () => {
  it('are what a person would type, and never change: a table under another id is another table.', () => {
    const { Resources, Outputs } = JSON.parse(template(first))
    for (const id of Object.keys(Resources)) expect(id).toMatch(/^[A-Z][A-Za-z]+$/)
    expect(Object.keys(Resources)).toEqual(
      expect.arrayContaining([
        'StorageTable',
        'StorageSegments',
        ...['Push', 'PushRole', 'PushLogs', 'Pop', 'Settle', 'Inspect', 'Manage', 'Rate', 'Health'],
        ...['ReturnExpiredLocks', 'SweepSchedule', 'Housekeep', 'HousekeepingStream', 'Wake'],
        ...['Announce', 'EventsBus', 'EventsArchive', 'EventsStream', 'EventsFailures'],
        ...['ApplyInbox', 'Inbox', 'InboxFailures', 'InboxMapping'],
        ...['HousekeepingStreamFailures', 'Api', 'ApiStage', 'ApiAcknowledgeRoute'],
        'Dashboard',
        'AlarmsCallsFail',
      ]),
    )
    expect(Object.keys(Outputs)).toEqual(['Url', 'TableName', 'BucketName', 'WhoMayCall'])
  })
})
