import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { synthesised } from './synthesised.ts'

const root = join(import.meta.dirname, '../..')
const isInstalled = spawnSync('cfn-lint', ['--version']).status === 0

const settings: readonly Readonly<Record<string, string>>[] = [
  {},
  {
    auth: 'jwt',
    issuer: 'https://login.example/',
    audience: 'queues',
    itemAgeAlarm: '60',
    alarmTopic: 'arn:aws:sns:eu-central-1:123456789012:operators',
  },
  { throwaway: 'true', corsOrigins: 'https://a.example' },
]

function templateOf(context: Readonly<Record<string, string>>): string {
  const { app, stack } = synthesised(context)
  return app.synth().getStackArtifact(stack.artifactId).templateFullPath
}

/** It is a Python program, and nothing but Node and npm may be needed: it runs where it is found. */
describe.skipIf(!isInstalled)('cfn-lint (skipped where it is not installed)', () => {
  it('finds nothing in the stack: as it comes, with tokens and a topic, for throwing away.', () => {
    // W3005 is in .cfnlintrc, with its reason.
    const { stdout, stderr, status } = spawnSync('cfn-lint', settings.map(templateOf), {
      cwd: root,
      encoding: 'utf8',
    })
    expect([stdout, stderr]).toEqual(['', ''])
    expect(status).toBe(0)
  })
})
