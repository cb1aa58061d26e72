import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { account, isMotoInstalled, type Moto, region, startMoto } from './moto.ts'
import type { Resource } from './synthesised.ts'

const root = join(import.meta.dirname, '../..')

/** What moto passes over without a word. */
const unknownToMoto = [
  'AWS::ApiGatewayV2::Api',
  'AWS::ApiGatewayV2::Integration',
  'AWS::ApiGatewayV2::Route',
  'AWS::ApiGatewayV2::Stage',
  'AWS::CloudWatch::Alarm',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::S3::BucketPolicy',
  'AWS::SQS::QueuePolicy',
]

describe.skipIf(!isMotoInstalled)('cdk deploy (skipped where moto_server is not installed)', () => {
  const assembly = temporaryFolder()
  let moto: Moto

  const cdk = (...args: string[]) => {
    const cli = join(root, 'node_modules/aws-cdk/bin/cdk')
    const { stdout, stderr, status } = spawnSync(process.execPath, [cli, ...args], {
      cwd: root,
      encoding: 'utf8',
      env: {
        // Node 24 and npx, as npm's scripts find them; no profile and no account of the user's.
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
        HOME: assembly,
        CI: 'true',
        CDK_DISABLE_CLI_TELEMETRY: 'true',
        // It takes two seconds, and synth.test.ts does it.
        CDK_VALIDATION: 'false',
        AWS_ENDPOINT_URL: moto.endpoint,
        AWS_REGION: region,
        AWS_ACCESS_KEY_ID: 'key',
        AWS_SECRET_ACCESS_KEY: 'secret',
        AWS_EC2_METADATA_DISABLED: 'true',
      },
    })
    const output = `${stdout}${stderr}`
    if (status !== 0) throw new Error(`cdk ${args.join(' ')} failed:\n${output}`)
    return output
  }
  const deploy = () => cdk('deploy', '--app', assembly, '--require-approval', 'never')

  /** Of the stack as moto made it: logical id to physical id. What it passed over has neither. */
  const made = async () => {
    const xml = await moto.query('cloudformation', {
      Action: 'ListStackResources',
      StackName: 'PushPop',
      Version: '2010-05-15',
    })
    const made = new Map(
      [...xml.matchAll(/<member>(.*?)<\/member>/gs)].map(([, member]) => {
        const of = (tag: string) =>
          new RegExp(`<${tag}>([^<]*)</${tag}>`).exec(member as string)?.[1] ?? ''
        return [of('LogicalResourceId'), of('PhysicalResourceId')] as [string, string]
      }),
    )
    made.delete('')
    return made
  }

  /** CloudFormation ends the names that it makes for FIFO queues in `.fifo`; moto refuses its own. */
  const nameFifoQueues = () => {
    const file = join(assembly, 'PushPop.template.json')
    const template = JSON.parse(readFileSync(file, 'utf8'))
    for (const [id, { Properties }] of Object.entries(
      template.Resources as Record<string, Resource>,
    )) {
      if (Properties?.FifoQueue === true) Properties.QueueName = `PushPop-${id}.fifo`
    }
    writeFileSync(file, JSON.stringify(template))
  }

  beforeAll(async () => {
    moto = await startMoto()
    cdk('synth', '--quiet', '--output', assembly)
    nameFifoQueues()
    cdk('bootstrap', `aws://${account}/${region}`)
  }, 120_000)
  afterAll(() => moto?.stop())

  it('makes every resource that moto knows, and nothing more the second time.', async () => {
    expect(deploy()).toMatch(/✅ +PushPop$/m)
    const resources = await made()
    const template = JSON.parse(readFileSync(join(assembly, 'PushPop.template.json'), 'utf8'))
    const expected = Object.entries(template.Resources as Record<string, Resource>)
      .filter(([, { Type }]) => !unknownToMoto.includes(Type))
      .map(([id]) => id)
    expect([...resources.keys()].sort()).toEqual(expected.sort())

    // "Deployed" need not mean made: ask the services themselves.
    const dynamodb = new DynamoDBClient({
      endpoint: moto.endpoint,
      region,
      credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    })
    const TableName = resources.get('StorageTable') as string
    const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName }))
    dynamodb.destroy()
    expect(Table?.GlobalSecondaryIndexes?.map(({ IndexName }) => IndexName)).toEqual([
      'check',
      'directory',
    ])
    expect(Table?.StreamSpecification?.StreamViewType).toBe('NEW_AND_OLD_IMAGES')
    expect(Table?.DeletionProtectionEnabled).toBe(true)
    const { Functions } = (await moto.get('lambda', '/2015-03-31/functions/')) as {
      Functions: { Runtime: string; Environment: { Variables: Record<string, string> } }[]
    }
    expect(Functions).toHaveLength(12)
    const tables = Functions.map(({ Environment }) => Environment.Variables.PUSHPOP_TABLE)
    expect(tables.filter((name) => name === TableName)).toHaveLength(10)

    expect(deploy()).toContain('(no changes)')
    expect(await made()).toEqual(resources)
  }, 180_000)
})
