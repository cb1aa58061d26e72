import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { appHere } from '../../../local/terminal/output.ts'

const root = join(import.meta.dirname, '../../..')

function folderWith(cdkJson?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'pushpop-app-here-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  if (cdkJson !== undefined) writeFileSync(join(folder, 'cdk.json'), cdkJson)
  return folder
}

const ofApp = (app: unknown) => appHere(folderWith(JSON.stringify({ app })), 'pushpop start')

describe('A start of PushPop alone in the folder of a CDK app', () => {
  it.each([
    ['npx tsx bin/app.ts', 'bin/app.ts'],
    ['npx ts-node --prefer-ts-exts bin/my-app.ts', 'bin/my-app.ts'],
    ['node "bin/app.mjs" --quiet', 'bin/app.mjs'],
    ['npm run -s app', 'FILE'],
    [undefined, 'FILE'],
  ])('says how to run the app (%s).', (app, file) => {
    expect(ofApp(app)).toBe(
      `PushPop runs alone, without the app in cdk.json; pushpop start --app ${file} runs that one.`,
    )
  })

  it('says so even if it cannot read the cdk.json.', () => {
    expect(appHere(folderWith('{'), 'pushpop start')).toContain('--app FILE')
  })

  it('says nothing if there is none, or if the app is PushPop itself.', () => {
    expect(appHere(folderWith(), 'pushpop start')).toBeUndefined()
    expect(appHere(root, 'npm start --')).toBeUndefined()
  })
})
