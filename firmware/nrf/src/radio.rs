//! The radio of the chip as the transport wants it.

use embassy_nrf::interrupt::typelevel::{Binding, RADIO as RadioInterrupt};
use embassy_nrf::radio::ieee802154::{Packet, Radio as Driver};
use embassy_nrf::radio::{Error, InterruptHandler};
use embassy_nrf::{Peri, pac, peripherals};
use firmware::transport::radio::mac::{Channel, MacBuffer};
use firmware::transport::radio::{Ear, Radio, ReceiveError, Reception, SendError};

/// What the hardware adds to the energy it measures, in dBm (nRF52840 and nRF52833 product specifications, `ED_RSSIOFFS`).
const ENERGY_OFFSET_DBM: i16 = -93;
/// The shortest frame for which the hardware measures anything.
const MEASURED_BYTES_MIN: usize = 3;

/// The radio.
pub(crate) struct NrfRadio {
    driver: Driver<'static>,
    packet: Packet,
}

impl NrfRadio {
    pub(crate) fn new(
        radio: Peri<'static, peripherals::RADIO>,
        interrupts: impl Binding<RadioInterrupt, InterruptHandler<peripherals::RADIO>> + 'static,
        channel: Channel,
    ) -> Self {
        let mut driver = Driver::new(radio, interrupts);
        driver.set_channel(channel.number());
        Self { driver, packet: Packet::new() }
    }
}

/// The event that a frame has begun, which the driver leaves alone, and the one that it has ended.
pub(crate) struct NrfEar;

impl Ear for NrfEar {
    fn is_receiving(&self) -> bool {
        pac::RADIO.events_framestart().read() != 0 && pac::RADIO.events_phyend().read() == 0
    }
}

impl Radio for NrfRadio {
    type Ear = NrfEar;

    fn ear(&self) -> NrfEar {
        NrfEar
    }

    async fn send(&mut self, frame: &[u8]) -> Result<(), SendError> {
        // The driver panics at a longer one; the transport never asks for one.
        if frame.len() > usize::from(Packet::CAPACITY) {
            return Err(SendError::Failed);
        }
        self.packet.copy_from_slice(frame);
        self.driver.try_send(&mut self.packet).await.map_err(|error| match error {
            Error::ChannelInUse => SendError::Busy,
            _ => SendError::Failed, // buffers of the wrong length or in flash, and what a later driver may add
        })
    }

    async fn receive(&mut self, buffer: &mut MacBuffer) -> Result<Reception, ReceiveError> {
        pac::RADIO.events_framestart().write_value(0); // of the frame before
        self.driver.receive(&mut self.packet).await.map_err(|error| match error {
            Error::CrcFailed(_) => ReceiveError::Broken,
            _ => ReceiveError::Failed, // as above
        })?;
        // The length comes from the air, and the driver takes it as it is: looked at before anything is taken from it.
        let length = usize::from(self.packet.len());
        let Some(place) = buffer.get_mut(..length).filter(|_| length >= MEASURED_BYTES_MIN) else {
            return Err(ReceiveError::Broken);
        };
        place.copy_from_slice(&self.packet);
        let energy = i16::from(self.packet.lqi()).saturating_add(ENERGY_OFFSET_DBM);
        let energy_dbm = i8::try_from(energy).unwrap_or(i8::MAX);
        // What this hardware calls link quality is the energy again.
        Ok(Reception { length, energy_dbm, link_quality: u8::MAX })
    }
}
