import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { synthesiseApp } from '../../local/synthesis/synthesise-app.ts'
import type { Resource } from '../lib/synthesised.ts'

const apps = [
  ['orders', 'Orders'],
  ['webhooks', 'Webhooks'],
  ['devices', 'Devices'],
  ['inbox', 'Alerts'],
] as const

it.each(apps)(
  'The example %s can be deployed to a new account, which has no concurrency to reserve.',
  async (folder, stack) => {
    const app = join(import.meta.dirname, `../../examples/${folder}/app.ts`)
    const assembly = await synthesiseApp({ app })
    const { Resources } = JSON.parse(readFileSync(join(assembly, `${stack}.template.json`), 'utf8'))
    const functions = Object.values(Resources as Record<string, Resource>).filter(
      ({ Type }) => Type === 'AWS::Lambda::Function',
    )
    expect(functions.length).toBeGreaterThan(10)
    for (const { Properties } of functions) {
      expect(Properties.ReservedConcurrentExecutions).toBeUndefined()
    }
  },
)
