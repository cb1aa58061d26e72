// A cloud assembly as the CDK writes one, of a small shop: a table with a stream, a bucket, an API,
// a schedule and a bus, around functions given as text.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeCode } from './a-function.ts'

type ShopFunction = {
  readonly code: string
  readonly properties?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
}

export type Shop = {
  readonly functions: Readonly<Record<string, ShopFunction>>
  /** Routes by key, to the function's logical id. */
  readonly routes?: Readonly<Record<string, string>>
  readonly resources?: Readonly<Record<string, unknown>>
}

/** Returns the folder that it wrote into. */
export function writeAssembly(directory: string, shop: Shop): string {
  mkdirSync(directory, { recursive: true })
  writeFileSync(
    join(directory, 'manifest.json'),
    JSON.stringify({
      version: '55.0.0',
      artifacts: {
        'Shop.assets': { type: 'cdk:asset-manifest', properties: { file: 'Shop.assets.json' } },
        Shop: {
          type: 'aws:cloudformation:stack',
          properties: { templateFile: 'Shop.template.json' },
        },
      },
    }),
  )
  for (const [id, { code }] of Object.entries(shop.functions)) {
    writeCode(directory, `asset.${id}`, code)
  }
  writeFileSync(join(directory, 'Shop.template.json'), JSON.stringify(shopTemplate(shop)))
  return directory
}

export function shopTemplate({ functions, routes = {}, resources = {} }: Shop) {
  return {
    Resources: {
      Table: {
        Type: 'AWS::DynamoDB::Table',
        Properties: {
          AttributeDefinitions: [
            { AttributeName: 'pk', AttributeType: 'S' },
            { AttributeName: 'group', AttributeType: 'S' },
          ],
          KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
          GlobalSecondaryIndexes: [
            {
              IndexName: 'groups',
              KeySchema: [{ AttributeName: 'group', KeyType: 'HASH' }],
              Projection: { ProjectionType: 'KEYS_ONLY' },
            },
          ],
          BillingMode: 'PAY_PER_REQUEST',
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
          TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
        },
        DeletionPolicy: 'Retain',
      },
      Bucket: { Type: 'AWS::S3::Bucket', Properties: {} },
      Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'Shop', ProtocolType: 'HTTP' } },
      ApiStage: {
        Type: 'AWS::ApiGatewayV2::Stage',
        Properties: { ApiId: { Ref: 'Api' }, StageName: '$default', AutoDeploy: true },
      },
      ...Object.fromEntries(Object.entries(functions).map(functionResource)),
      ...Object.fromEntries(Object.entries(routes).flatMap(routeResources)),
      ...resources,
    },
  }
}

function functionResource([id, { properties, metadata }]: [string, ShopFunction]) {
  return [
    id,
    {
      Type: 'AWS::Lambda::Function',
      Properties: {
        Code: { S3Bucket: 'cdk-assets', S3Key: `${id}.zip` },
        Handler: 'index.handler',
        Runtime: 'nodejs24.x',
        Timeout: 10,
        ...properties,
      },
      Metadata: { 'aws:asset:path': `asset.${id}`, 'aws:asset:property': 'Code', ...metadata },
    },
  ] as const
}

function routeResources([key, functionId]: [string, string], index: number) {
  const integration = `Integration${index}`
  return [
    [
      integration,
      {
        Type: 'AWS::ApiGatewayV2::Integration',
        Properties: {
          ApiId: { Ref: 'Api' },
          IntegrationType: 'AWS_PROXY',
          IntegrationUri: { 'Fn::GetAtt': [functionId, 'Arn'] },
          PayloadFormatVersion: '2.0',
        },
      },
    ],
    [
      `Route${index}`,
      {
        Type: 'AWS::ApiGatewayV2::Route',
        Properties: {
          ApiId: { Ref: 'Api' },
          RouteKey: key,
          Target: { 'Fn::Join': ['', ['integrations/', { Ref: integration }]] },
        },
      },
    ],
  ] as const
}

/** What delivers the table's stream to a function. */
export const streamMapping = (functionId: string, properties: object = {}) => ({
  Type: 'AWS::Lambda::EventSourceMapping',
  Properties: {
    EventSourceArn: { 'Fn::GetAtt': ['Table', 'StreamArn'] },
    FunctionName: { Ref: functionId },
    StartingPosition: 'TRIM_HORIZON',
    ...properties,
  },
})

export const rule = (functionId: string, properties: object) => ({
  Type: 'AWS::Events::Rule',
  Properties: {
    State: 'ENABLED',
    Targets: [{ Arn: { 'Fn::GetAtt': [functionId, 'Arn'] }, Id: 'Target0' }],
    ...properties,
  },
})
