import { describe, expect, test } from 'vitest'
import { planStack } from '../../../local/template/plan.ts'
import { rule, type Shop, shopTemplate, streamMapping } from '../an-assembly.ts'

const functions = {
  Serve: {
    code: '',
    properties: {
      MemorySize: '512',
      Timeout: 29,
      ReservedConcurrentExecutions: 1,
      Environment: { Variables: { TABLE: { Ref: 'Table' }, LEVEL: 3 } },
    },
  },
  Work: { code: '', properties: { Timeout: undefined } },
}

const aFunction = (properties: object) => ({
  Type: 'AWS::Lambda::Function',
  Properties: { Runtime: 'nodejs24.x', Handler: 'index.handler', ...properties },
  Metadata: { 'aws:asset:path': 'asset' },
})

const plan = (shop: Partial<Shop> = {}) => {
  const template = JSON.parse(JSON.stringify(shopTemplate({ functions, ...shop })))
  return planStack([{ stackName: 'Shop', template, directory: '/out' }])
}

const arn = (id: string) => `arn:aws:lambda:us-east-1:123456789012:function:Shop-${id}`

describe('the plan of a template', () => {
  test("functions, with Lambda's defaults", () => {
    expect(plan().functions).toEqual([
      {
        id: 'Serve',
        name: 'Shop-Serve',
        arn: arn('Serve'),
        handler: 'index.handler',
        codeDirectory: '/out/asset.Serve',
        environment: { TABLE: 'Shop-Table', LEVEL: '3' },
        memoryMb: 512,
        timeoutMs: 29_000,
        concurrencyMax: 1,
        asyncRetriesMax: 2,
      },
      expect.objectContaining({ id: 'Work', memoryMb: 128, timeoutMs: 3000, environment: {} }),
    ])
  })

  test('without the functions that only a deployment calls, whatever they are written in', () => {
    const { functions: planned } = plan({
      resources: {
        OnEvent: aFunction({ Runtime: 'python3.13' }),
        Provider: aFunction({
          Code: { ZipFile: 'x' },
          Environment: { Variables: { USER_ON_EVENT: { 'Fn::GetAtt': ['OnEvent', 'Arn'] } } },
        }),
        Notice: {
          Type: 'Custom::Notice',
          Properties: { ServiceToken: { 'Fn::GetAtt': ['Provider', 'Arn'] } },
        },
      },
    })
    expect(planned.map(({ id }) => id)).toEqual(['Serve', 'Work'])
  })

  test('which functions hold their calls, and may have more processes for that', () => {
    const holding = { ...functions.Work, metadata: { 'pushpop:holds-calls': true } }
    const planned = plan({ functions: { ...functions, Work: holding } }).functions
    expect(planned.map(({ holdsCalls }) => holdsCalls)).toEqual([undefined, true])
  })

  test('how often a function is tried again when nobody waits for it', () => {
    const config = {
      Type: 'AWS::Lambda::EventInvokeConfig',
      Properties: { FunctionName: { Ref: 'Work' }, MaximumRetryAttempts: 0 },
    }
    const planned = plan({ resources: { Config: config } }).functions
    expect(planned.map(({ id, asyncRetriesMax }) => [id, asyncRetriesMax])).toEqual([
      ['Serve', 2],
      ['Work', 0],
    ])
  })

  test('tables as CreateTable takes them, and buckets', () => {
    const { tables, buckets } = plan()
    const { Properties } = shopTemplate({ functions }).Resources.Table
    const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes } = Properties
    expect(tables).toEqual([
      {
        logicalId: 'Table',
        name: 'Shop-Table',
        timeToLiveAttribute: 'ttl',
        hasStream: true,
        definition: {
          TableName: 'Shop-Table',
          ...{ AttributeDefinitions, KeySchema, GlobalSecondaryIndexes },
          BillingMode: 'PAY_PER_REQUEST',
          StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
        },
      },
    ])
    expect(buckets).toEqual(['shop-bucket'])
  })

  test('routes, by their integrations', () => {
    const { apis } = plan({ routes: { 'GET /a/{id}': 'Serve', $default: 'Work' } })
    expect(apis).toEqual([
      {
        name: 'Api',
        id: 'shop-api',
        routes: [
          { key: 'GET /a/{id}', functionArn: arn('Serve'), timeoutMs: 30_000 },
          { key: '$default', functionArn: arn('Work'), timeoutMs: 30_000 },
        ],
      },
    ])
  })

  test("several APIs, each with its own routes, and the service's before the others", () => {
    const route = (api: string, key: string) => ({
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: {
        ApiId: { Ref: api },
        RouteKey: key,
        Target: 'integrations/Shop-Integration0',
      },
    })
    const { apis } = plan({
      routes: { 'GET /shop': 'Serve' },
      resources: {
        Queues: { Type: 'AWS::ApiGatewayV2::Api', Properties: { ProtocolType: 'HTTP' } },
        Push: route('Queues', 'POST /queue/{id}/push'),
        Shelf: route('Api', 'GET /shelf'),
      },
    })
    expect(apis.map(({ name, routes }) => [name, routes.map(({ key }) => key)])).toEqual([
      ['Queues', ['POST /queue/{id}/push']],
      ['Api', ['GET /shop', 'GET /shelf']],
    ])
  })

  test('schedules and rules of a bus', () => {
    const { schedules, eventRules, buses } = plan({
      resources: {
        Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'shop' } },
        Hourly: rule('Work', { ScheduleExpression: 'rate(1 hour)' }),
        Off: rule('Work', { ScheduleExpression: 'rate(1 day)', State: 'DISABLED' }),
        ByName: rule('Work', { EventPattern: { source: ['a'] }, EventBusName: { Ref: 'Bus' } }),
        ByArn: rule('Serve', {
          EventPattern: { source: ['b'] },
          EventBusName: { 'Fn::GetAtt': ['Bus', 'Arn'] },
        }),
        Default: rule('Work', { EventPattern: { source: ['c'] } }),
      },
    })
    expect(buses).toEqual(['default', 'shop'])
    expect(schedules).toEqual([
      {
        id: 'Hourly',
        arn: 'arn:aws:events:us-east-1:123456789012:rule/Shop-Hourly',
        expression: 'rate(1 hour)',
        targets: [{ functionArn: arn('Work') }],
      },
    ])
    expect(eventRules.map(({ id, busName }) => [id, busName])).toEqual([
      ['ByName', 'shop'],
      ['ByArn', 'shop'],
      ['Default', 'default'],
    ])
  })

  test('streams, with all their settings', () => {
    const queue = { Type: 'AWS::SQS::Queue' }
    const { streams } = plan({
      resources: {
        Failures: queue,
        Mapping: streamMapping('Work', {
          BatchSize: 7,
          MaximumBatchingWindowInSeconds: 2,
          BisectBatchOnFunctionError: true,
          FunctionResponseTypes: ['ReportBatchItemFailures'],
          MaximumRetryAttempts: 3,
          MaximumRecordAgeInSeconds: -1,
          FilterCriteria: { Filters: [{ Pattern: '{"eventName":["INSERT"]}' }] },
          DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': ['Failures', 'Arn'] } } },
        }),
      },
    })
    expect(streams).toEqual([
      {
        id: 'Mapping',
        functionArn: arn('Work'),
        tableName: 'Shop-Table',
        streamArn: 'arn:aws:dynamodb:us-east-1:123456789012:table/Shop-Table/stream/local',
        patterns: [{ eventName: ['INSERT'] }],
        batchSize: 7,
        windowMs: 2000,
        bisects: true,
        reportsItemFailures: true,
        retriesMax: 3,
        failureQueue: 'Failures',
      },
    ])
  })

  test('a route leads to its own function, even if the name of another one begins that name', () => {
    const [api] = plan({
      functions: { Serve: { code: '' }, ServeMore: { code: '' } },
      routes: { 'GET /more': 'ServeMore' },
      resources: {
        Route: {
          Type: 'AWS::ApiGatewayV2::Route',
          Properties: {
            ApiId: { Ref: 'Api' },
            RouteKey: 'GET /path',
            Target: 'integrations/Shop-Path',
          },
        },
        Path: {
          Type: 'AWS::ApiGatewayV2::Integration',
          Properties: {
            IntegrationUri: {
              'Fn::Join': [
                '',
                [
                  'arn:aws:apigateway:us-east-1:lambda:path/2015-03-31/functions/',
                  { 'Fn::GetAtt': ['ServeMore', 'Arn'] },
                  '/invocations',
                ],
              ],
            },
            PayloadFormatVersion: '2.0',
          },
        },
      },
    }).apis
    expect(api?.routes.map(({ functionArn }) => functionArn)).toEqual([
      arn('ServeMore'),
      arn('ServeMore'),
    ])
  })

  test('two stacks with the same logical ids have their own functions, routes, streams and schedules', () => {
    const template = JSON.parse(
      JSON.stringify(
        shopTemplate({
          functions: { Work: { code: '' } },
          routes: { 'GET /a': 'Work' },
          resources: {
            Mapping: streamMapping('Work'),
            Often: rule('Work', { ScheduleExpression: 'rate(1 minute)' }),
          },
        }),
      ),
    )
    const stacks = ['Dev', 'Prod'].map((stackName) => ({ stackName, template, directory: '/out' }))
    const { apis, functions: run, streams, schedules } = planStack(stacks)
    expect(run.map(({ id }) => id)).toEqual(['Dev-Work', 'Prod-Work'])
    expect(
      apis.map(({ name, routes }) => [name, routes.map((route) => route.functionArn)]),
    ).toEqual([
      ['Dev-Api', [run[0]?.arn]],
      ['Prod-Api', [run[1]?.arn]],
    ])
    expect(streams.map(({ id }) => id)).toEqual(['Dev-Mapping', 'Prod-Mapping'])
    expect(schedules.map(({ id }) => id)).toEqual(['Dev-Often', 'Prod-Often'])
  })

  test('what is not run here is said, not passed over', () => {
    const { leftOut } = plan({
      resources: {
        Route: {
          Type: 'AWS::ApiGatewayV2::Route',
          Properties: {
            ApiId: { Ref: 'Api' },
            RouteKey: 'GET /a',
            AuthorizationType: 'AWS_IAM',
            Target: 'integrations/Shop-Integration',
          },
        },
        Integration: {
          Type: 'AWS::ApiGatewayV2::Integration',
          Properties: {
            IntegrationUri: { 'Fn::GetAtt': ['Serve', 'Arn'] },
            PayloadFormatVersion: '2.0',
          },
        },
        Rule: rule('Work', {
          ScheduleExpression: 'rate(1 hour)',
          Targets: [{ Arn: 'arn:aws:sqs:x' }],
        }),
        Mapping: streamMapping('Work', { EventSourceArn: 'arn:aws:sqs:x' }),
        Old: aFunction({ Runtime: 'nodejs20.x' }),
        Network: { Type: 'AWS::EC2::VPC' },
        Subnet: { Type: 'AWS::EC2::Subnet' },
        SubnetB: { Type: 'AWS::EC2::Subnet' },
        Alarm: { Type: 'AWS::CloudWatch::Alarm' },
      },
    })
    expect(leftOut).toEqual([
      'The local stack leaves out AWS::EC2::VPC (Network), AWS::EC2::Subnet (Subnet and 1 more).',
      'Functions for nodejs20.x run on Node 24 here.',
      'Authorisation is not checked: anybody who reaches the address may call every route.',
      'The rule Rule has a target that is neither a function nor a queue of the template: it gets no events.',
      "Mapping reads neither a table's stream nor a queue of the template: its function gets no events.",
    ])
  })

  test.each([
    [
      'code of which nobody knows where it is',
      {
        Lost: { Type: 'AWS::Lambda::Function', Properties: { Runtime: 'nodejs24.x', Code: {} } },
      },
      /^Cannot run the function Lost because .*aws:cdk:enable-asset-metadata/,
    ],
    [
      'a WebSocket API',
      { Chat: { Type: 'AWS::ApiGatewayV2::Api', Properties: { ProtocolType: 'WEBSOCKET' } } },
      /^Cannot run the API Chat because its protocol is WEBSOCKET, and the local stack knows HTTP only$/,
    ],
    [
      'an API that a document describes',
      { Described: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Body: {} } } },
      /^Cannot run the API Described because its protocol is not given/,
    ],
    [
      'a function URL',
      { Url: { Type: 'AWS::Lambda::Url' } },
      /^Cannot run Url because it is a function URL, and the local stack serves functions by HTTP APIs only/,
    ],
    [
      'a REST API',
      { Rest: { Type: 'AWS::ApiGateway::RestApi' } },
      /^Cannot run Rest because it is a REST API/,
    ],
    [
      'a table of another kind',
      { Copies: { Type: 'AWS::DynamoDB::GlobalTable' } },
      /^Cannot run Copies because it is a global table/,
    ],
    [
      'a function in Python',
      { Snake: aFunction({ Runtime: 'python3.13' }) },
      /^Cannot run the function Snake because the local stack runs Node, and its runtime is python3\.13$/,
    ],
    [
      'code in the template',
      { Inline: aFunction({ Code: { ZipFile: 'exports.handler = () => {}' } }) },
      /^Cannot run the function Inline because its code stands in the template itself/,
    ],
    [
      'a container image',
      {
        Image: { Type: 'AWS::Lambda::Function', Properties: { Code: { ImageUri: 'x' } } },
      },
      /^Cannot run the function Image because it is a container image/,
    ],
    [
      'a layer',
      { Layered: aFunction({ Layers: ['arn:aws:lambda:x'] }) },
      /^Cannot run the function Layered because it has layers/,
    ],
    [
      'an answer to an event that should go on',
      {
        Config: {
          Type: 'AWS::Lambda::EventInvokeConfig',
          Properties: {
            FunctionName: { Ref: 'Work' },
            DestinationConfig: { OnSuccess: { Destination: 'arn:aws:sqs:x' } },
          },
        },
      },
      /^Cannot run the function Work because the local stack does not pass on what it answers/,
    ],
    [
      'another stage',
      { Stage: { Type: 'AWS::ApiGatewayV2::Stage', Properties: { StageName: 'prod' } } },
      /^Cannot run the stage prod/,
    ],
    [
      'a route that leads nowhere',
      {
        Route: {
          Type: 'AWS::ApiGatewayV2::Route',
          Properties: { ApiId: { Ref: 'Api' }, RouteKey: 'GET /a', Target: 'x' },
        },
      },
      /^Cannot run the route GET \/a because no function/,
    ],
    [
      'a filter that is no JSON',
      {
        Mapping: streamMapping('Work', { FilterCriteria: { Filters: [{ Pattern: '{' }] } }),
      },
      /^Cannot run Mapping because of one of its filters/,
    ],
    [
      'a rule whose input is no JSON',
      {
        Told: rule('Work', {
          EventPattern: { source: ['till'] },
          Targets: [{ Arn: { 'Fn::GetAtt': ['Work', 'Arn'] }, Input: 'paid' }],
        }),
      },
      /^Cannot run the rule Told because the input of its target is not JSON: paid$/,
    ],
    [
      'a rule whose transformer does not make JSON',
      {
        Told: rule('Work', {
          EventPattern: { source: ['till'] },
          Targets: [
            {
              Arn: { 'Fn::GetAtt': ['Work', 'Arn'] },
              InputTransformer: { InputPathsMap: { n: '$.detail.n' }, InputTemplate: 'order <n>' },
            },
          ],
        }),
      },
      /^Cannot run the rule Told because the input of its target is not JSON: order <n>$/,
    ],
    [
      'a stream in tumbling windows',
      { Mapping: streamMapping('Work', { TumblingWindowInSeconds: 30 }) },
      /^Cannot run Mapping because it has a tumbling window, which the local stack does not have$/,
    ],
    [
      'a timeout that is no number',
      {
        Odd: {
          Type: 'AWS::Lambda::Function',
          Properties: { Runtime: 'nodejs24.x', Handler: 'a.b', Timeout: 'long' },
          Metadata: { 'aws:asset:path': 'x' },
        },
      },
      /^Cannot run the template because Timeout of Odd is not a number but "long"/,
    ],
  ])('%s is one sentence', (_, resources, says) => {
    expect(() => plan({ resources })).toThrow(says)
  })
})
