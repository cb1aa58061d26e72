import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readAssembly } from '../../../local/template/assembly.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function assemblyOf(templates: Readonly<Record<string, unknown>>): string {
  const directory = join(temporaryFolder(), 'cdk.out')
  mkdirSync(directory)
  const artifacts = Object.keys(templates).map((name) => [
    name,
    { type: 'aws:cloudformation:stack', properties: { templateFile: `${name}.json` } },
  ])
  const manifest = { artifacts: Object.fromEntries(artifacts) }
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest))
  for (const [name, template] of Object.entries(templates)) {
    writeFileSync(join(directory, `${name}.json`), JSON.stringify(template))
  }
  return directory
}

it('A stack without resources, as `cdk init` makes it, is passed over.', () => {
  const Queues = { Resources: { Table: { Type: 'AWS::DynamoDB::Table' } } }
  const directory = assemblyOf({ Init: { Parameters: {} }, Queues })
  expect(readAssembly(directory).map(({ stackName }) => stackName)).toEqual(['Queues'])
})

it('A template whose resources have no type is refused.', () => {
  const directory = assemblyOf({ Init: { Resources: { Table: {} } } })
  expect(() => readAssembly(directory)).toThrow('Init.json because a resource in it has no type')
})
