# docker build -t freshet .        docker run --rm -t freshet
# The image runs any command of freshet: docker run --rm -v "$PWD:/data" -w /data freshet query -d data.ttl -q query.rq

FROM python:3.12-slim-bookworm AS build
WORKDIR /source
COPY requirements.lock ./
RUN pip install --no-cache-dir -c requirements.lock numba numpy "hatchling>=1.27,<2"
COPY pyproject.toml README.md LICENSE ./
COPY tools tools
COPY src src
RUN PYTHONPATH=src python tools/compile-kernels build/kernels
RUN FRESHET_PREBUILT_KERNELS=build/kernels python -m hatchling build --target wheel --directory /wheel

# bookworm is the Debian release that has Java 17.
FROM python:3.12-slim-bookworm
RUN apt-get update \
 && apt-get install --yes --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*
COPY requirements.lock /tmp/requirements.lock
RUN pip install --no-cache-dir -r /tmp/requirements.lock
COPY --from=build /wheel /tmp/wheel
RUN pip install --no-cache-dir --no-deps /tmp/wheel/*.whl

RUN useradd --create-home freshet
USER freshet
WORKDIR /home/freshet

ENTRYPOINT ["freshet"]
CMD ["demo"]
