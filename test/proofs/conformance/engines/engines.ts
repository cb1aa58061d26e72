import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Engine, getBy } from './engine.ts'

/** AWS's own for tests. It listens on all addresses, and has no option for another. */
export const dynamodbLocal: Engine = {
  name: 'DynamoDB Local 2.6.1',
  needs: ['java', 'mvn'],
  get: (folder) => getByMaven(folder, 'com.amazonaws', 'DynamoDBLocal', '2.6.1'),
  run: (_, { port }) => ({
    command: 'java',
    args: [
      '-Xmx2g',
      '-XX:+UseSerialGC',
      '-Djava.library.path=libs',
      '-cp',
      'libs/*',
      'com.amazonaws.services.dynamodbv2.local.main.ServerRunner',
      '-inMemory',
      '-sharedDb',
      '-disableTelemetry',
      '-port',
      String(port),
    ],
  }),
  path: '/',
}

const minioVersion = 'v0.0.0-20260212201848-7aac2a2c5b7c'
/** MinIO takes no secret of fewer than eight characters. */
const minioKey = { accessKeyId: 'pushpop', secretAccessKey: 'pushpop-secret' }

export const minio: Engine = {
  name: 'MinIO 2026-02-12',
  needs: ['go'],
  get: (folder) =>
    getBy('go', ['install', `github.com/minio/minio@${minioVersion}`], folder, { GOBIN: folder }),
  run: (folder, { port, scratch, freePort }) => ({
    command: join(folder, 'minio'),
    args: freePort().then((console) => [
      'server',
      '--quiet',
      '--address',
      `127.0.0.1:${port}`,
      '--console-address',
      `127.0.0.1:${console}`,
      scratch,
    ]),
    env: { MINIO_ROOT_USER: minioKey.accessKeyId, MINIO_ROOT_PASSWORD: minioKey.secretAccessKey },
  }),
  path: '/minio/health/live',
  key: minioKey,
}

export const elasticmq: Engine = {
  name: 'ElasticMQ 1.7.1',
  needs: ['java', 'mvn'],
  get: (folder) => getByMaven(folder, 'org.elasticmq', 'elasticmq-server_2.13', '1.7.1'),
  run(_, { port, scratch }) {
    const file = join(scratch, 'elasticmq.conf')
    writeFileSync(
      file,
      `include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = ${port} }
rest-sqs { enabled = true, bind-hostname = "127.0.0.1", bind-port = ${port}, sqs-limits = strict }
rest-stats { enabled = false }
`,
    )
    return {
      command: 'java',
      args: ['-Xmx512m', `-Dconfig.file=${file}`, '-cp', 'libs/*', 'org.elasticmq.server.Main'],
    }
  },
  path: '/?Action=ListQueues',
}

function getByMaven(folder: string, group: string, artifact: string, version: string): void {
  writeFileSync(
    join(folder, 'pom.xml'),
    `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId><artifactId>engine</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>
    </dependency>
  </dependencies>
</project>
`,
  )
  getBy('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=libs'], folder)
}
